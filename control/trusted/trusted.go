// Package trusted is how the account's own person speaks to a service: a socket that only processes of the same account can speak to, and that no agent's action reaches.
package trusted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/control/keys"
)

// Request is one order. Body is what its word takes.
type Request struct {
	Word string          `json:"word"`
	Body json.RawMessage `json:"body,omitempty"`
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Limits of the socket.
const (
	maxLine  = 2 << 20
	patience = 30 * time.Second
)

// Do carries out an order.
type Do func(ctx context.Context, r Request) (any, error)

// Server listens on the socket until Close.
type Server struct {
	l    net.Listener
	do   Do
	path string
	life context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

const socket = "trusted.sock"

// Listen opens the socket in a folder of mode 0700, which is made if it is not there. A socket that a dead process left
// is replaced: the caller holds the lock that says so.
func Listen(dir string, do Do) (*Server, error) {
	if _, err := keys.OpenFiles(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, socket)
	if len(path) > 107 {
		return nil, fmt.Errorf("the path of the trusted socket is too long (%d bytes): use a shorter temporary folder", len(path))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the trusted socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("the trusted socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("the trusted socket: %w", err), l.Close())
	}
	life, stop := context.WithCancel(context.Background())
	s := &Server{l: l, do: do, path: path, life: life, stop: stop}
	s.work.Go(s.accept)
	return s, nil
}

// Close ends it, waits, and removes the folder, unless somebody has put something else there.
func (s *Server) Close() error {
	s.stop()
	err := s.l.Close()
	s.work.Wait()
	if gone := os.Remove(filepath.Dir(s.path)); gone != nil && !errors.Is(gone, os.ErrNotExist) && !errors.Is(gone, syscall.ENOTEMPTY) {
		err = errors.Join(err, fmt.Errorf("the folder of the trusted socket: %w", gone))
	}
	return err
}

func (s *Server) accept() {
	room := make(chan struct{}, 8)
	for {
		c, err := s.l.Accept()
		if err != nil {
			return // closed
		}
		select {
		case room <- struct{}{}:
		default:
			_ = c.Close() // too many at once: a person has two hands
			continue
		}
		s.work.Go(func() {
			defer func() { <-room }()
			s.serve(c)
		})
	}
}

func (s *Server) serve(c net.Conn) {
	defer c.Close()
	stop := context.AfterFunc(s.life, func() { _ = c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(patience)) // a connection that cannot have one fails at the next read
	if !own(c) {
		return
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxLine)).ReadBytes('\n')
	if err != nil {
		return
	}
	defer clear(line)
	var r Request
	var a answer
	if err := json.Unmarshal(line, &r); err != nil {
		a.Error = "this is no order"
	} else {
		ctx, cancel := context.WithTimeout(s.life, patience)
		defer cancel()
		result, err := s.do(ctx, r)
		if err == nil {
			a.Result, err = json.Marshal(result)
		}
		if err != nil {
			a.Error = err.Error()
		}
	}
	out, err := json.Marshal(a)
	if err != nil {
		return
	}
	_, _ = c.Write(append(out, '\n')) // who is gone asks again
}

// own says whether the other end is of this account; the kernel says so, not the other end.
func own(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	fits := false
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		fits = err == nil && int(cred.Uid) == os.Geteuid()
	})
	return err == nil && fits
}

// ErrNotRunning says that no endpoint runs for this data folder.
var ErrNotRunning = errors.New("no control endpoint runs for this data folder: start parley serve with PARLEY_CONTROL=1")

// Ask gives one order to the service whose socket is in dir, and waits until it answers or ctx ends.
func Ask(ctx context.Context, dir, word string, body, result any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	line, err := json.Marshal(Request{word, raw})
	if err != nil {
		return err
	}
	if err := keys.At(dir).Check(); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return ErrNotRunning
		}
		return err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", filepath.Join(dir, socket))
	if err != nil {
		return ErrNotRunning
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(patience + 5*time.Second))
	if _, err := c.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("speak to the endpoint: %w", err)
	}
	reply, err := bufio.NewReader(io.LimitReader(c, maxLine)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the endpoint did not answer: %w", err)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return fmt.Errorf("the endpoint's answer: %w", err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}
