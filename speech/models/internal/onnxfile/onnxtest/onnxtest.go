// Package onnxtest reads back what onnxfile writes, for tests.
package onnxtest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// File is the part of an ONNX file that tests look at.
type File struct {
	IR, Opset       uint64
	Domains         []string
	Meta            map[string]string
	Graph           string
	Inputs, Outputs []string
	Nodes           []Node
	Weights         map[string]Tensor
}

// Node is an operator.
type Node struct {
	Op, Domain string
	In, Out    []string
}

// Tensor is a constant.
type Tensor struct {
	Type uint64
	Dims []uint64
	Raw  []byte
}

var errFormat = errors.New("onnxtest: not a well-formed message")

// fields calls visit for each field of a message: bytes for a length-delimited one, a number for the others.
func fields(b []byte, visit func(field uint64, n uint64, body []byte) error) error {
	for len(b) > 0 {
		key, k := binary.Uvarint(b)
		if k <= 0 {
			return errFormat
		}
		b = b[k:]
		var n uint64
		var body []byte
		switch key & 7 {
		case 0:
			if n, k = binary.Uvarint(b); k <= 0 {
				return errFormat
			}
			b = b[k:]
		case 2:
			if n, k = binary.Uvarint(b); k <= 0 || n > uint64(len(b)-k) {
				return errFormat
			}
			body, b = b[k:k+int(n)], b[k+int(n):]
		case 5:
			if len(b) < 4 {
				return errFormat
			}
			n, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		default:
			return fmt.Errorf("%w: field of kind %d", errFormat, key&7)
		}
		if err := visit(key>>3, n, body); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a whole file.
func Read(b []byte) (*File, error) {
	f := &File{Meta: map[string]string{}, Weights: map[string]Tensor{}}
	name := func(field uint64, into *[]string) func(uint64, uint64, []byte) error {
		return func(n uint64, _ uint64, body []byte) error {
			if n == field {
				*into = append(*into, string(body))
			}
			return nil
		}
	}
	return f, fields(b, func(field, n uint64, body []byte) error {
		switch field {
		case 1:
			f.IR = n
		case 8:
			var domain string
			var version uint64
			err := fields(body, func(field, n uint64, body []byte) error {
				if field == 1 {
					domain = string(body)
				} else {
					version = n
				}
				return nil
			})
			if domain == "" {
				f.Opset = version
			} else {
				f.Domains = append(f.Domains, domain)
			}
			return err
		case 14:
			var kv [3]string
			err := fields(body, func(field, _ uint64, body []byte) error { kv[field] = string(body); return nil })
			f.Meta[kv[1]] = kv[2]
			return err
		case 7:
			return fields(body, func(field, _ uint64, body []byte) error {
				switch field {
				case 1:
					var x Node
					err := fields(body, func(field, _ uint64, body []byte) error {
						switch field {
						case 1:
							x.In = append(x.In, string(body))
						case 2:
							x.Out = append(x.Out, string(body))
						case 4:
							x.Op = string(body)
						case 7:
							x.Domain = string(body)
						}
						return nil
					})
					f.Nodes = append(f.Nodes, x)
					return err
				case 2:
					f.Graph = string(body)
				case 5:
					var t Tensor
					var n string
					err := fields(body, func(field, v uint64, body []byte) error {
						switch field {
						case 1:
							t.Dims = append(t.Dims, v)
						case 2:
							t.Type = v
						case 8:
							n = string(body)
						case 9:
							t.Raw = body
						}
						return nil
					})
					f.Weights[n] = t
					return err
				case 11:
					return fields(body, name(1, &f.Inputs))
				case 12:
					return fields(body, name(1, &f.Outputs))
				}
				return nil
			})
		}
		return nil
	})
}
