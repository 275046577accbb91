package models

import "errors"

// What can stop an installation; the text of the error that wraps one of these says where and what to do.
var (
	// ErrNoClient: neither of the programs that fetch packages is there.
	ErrNoClient = errors.New("no program to fetch packages with")
	// ErrNetwork: a package could not be fetched.
	ErrNetwork = errors.New("a package could not be fetched")
	// ErrMismatch: bytes are not the pinned ones.
	ErrMismatch = errors.New("the content is not what is pinned")
	// ErrSpace: the disk is too full.
	ErrSpace = errors.New("not enough disk space")
	// ErrMachine: there is no ONNX Runtime for this processor or system.
	ErrMachine = errors.New("no speech on this kind of machine")
)
