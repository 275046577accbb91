// Package onnxfile writes ONNX files: graphs built in memory, weights streamed.
//
// It is the small part of the format that our own models need. The same model always gives the same bytes, so that
// the result of a conversion can be pinned by its hash.
package onnxfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// DataType is an element type as ONNX numbers it.
type DataType int32

// The element types used here.
const (
	Float DataType = 1
	Uint8 DataType = 2
	Int8  DataType = 3
	Int64 DataType = 7
	Bool  DataType = 9
)

// Size is the number of bytes of one element.
func (t DataType) Size() int {
	switch t {
	case Float:
		return 4
	case Int64:
		return 8
	}
	return 1
}

// Model is a file: one graph, what it needs, and notes for whoever loads it.
type Model struct {
	Graph *Graph
	// Opset is the version of the standard operators.
	Opset int64
	// Meta are the notes, in this order.
	Meta [][2]string
}

// Graph is operators in an order in which they can run.
type Graph struct {
	Name    string
	Nodes   []Node
	Inputs  []Value
	Outputs []Value
	Weights []Tensor
}

// Node is one operator.
type Node struct {
	// Op is a standard operator, or one of the runtime's own when Domain names their collection.
	Op      string
	Domain  string
	In, Out []string
	Attrs   []Attr
}

// Attr is a setting of an operator: its Value is an int64, a float32, a string or a []int64.
type Attr struct {
	Name  string
	Value any
}

// Value is an input or output of the graph. A dimension is an int or, where it varies, a name.
type Value struct {
	Name string
	Type DataType
	Dims []any
}

// Tensor is a constant. Data writes its elements, little-endian, and is called once; it must write exactly
// the number of bytes that Type and Dims ask for.
type Tensor struct {
	Name string
	Type DataType
	Dims []int64
	Data func(io.Writer) error
}

func (t Tensor) bytes() int64 {
	n := int64(t.Type.Size())
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Write writes the file. Sizes come before contents in this format, so everything but the weights is first built
// in memory; weights go through one by one.
func (m *Model) Write(w io.Writer) error {
	var nodes, rest buffer
	for _, n := range m.Graph.Nodes {
		nodes.message(1, n.encode())
	}
	nodes.text(2, m.Graph.Name)
	for _, v := range m.Graph.Inputs {
		rest.message(11, v.encode())
	}
	for _, v := range m.Graph.Outputs {
		rest.message(12, v.encode())
	}
	heads := make([]buffer, len(m.Graph.Weights))
	graph := int64(len(nodes)) + int64(len(rest))
	for i, t := range m.Graph.Weights {
		h := &heads[i]
		for _, d := range t.Dims {
			h.number(1, uint64(d))
		}
		h.number(2, uint64(t.Type))
		h.text(8, t.Name)
		h.key(9, 2)
		h.varint(uint64(t.bytes()))
		body := int64(len(*h)) + t.bytes()
		graph += 1 + int64(varintLen(uint64(body))) + body
	}

	out := bufio.NewWriterSize(w, 1<<20)
	var b buffer
	b.number(1, 8) // the format's own version that goes with operators 17 to 18
	b.text(2, "parley")
	b.key(7, 2)
	b.varint(uint64(graph))
	b = append(b, nodes...)
	if _, err := out.Write(b); err != nil {
		return err
	}
	for i, t := range m.Graph.Weights {
		b = b[:0]
		b.key(5, 2)
		b.varint(uint64(int64(len(heads[i])) + t.bytes()))
		b = append(b, heads[i]...)
		if _, err := out.Write(b); err != nil {
			return err
		}
		count := counter{w: out}
		if err := t.Data(&count); err != nil {
			return fmt.Errorf("weights of %s: %w", t.Name, err)
		}
		if count.n != t.bytes() {
			return fmt.Errorf("weights of %s: %d bytes, want %d", t.Name, count.n, t.bytes())
		}
	}
	b = append(b[:0], rest...)
	b.message(8, operators("", m.Opset))
	known := map[string]bool{"": true}
	for _, n := range m.Graph.Nodes {
		if !known[n.Domain] {
			known[n.Domain] = true
			b.message(8, operators(n.Domain, 1))
		}
	}
	for _, kv := range m.Meta {
		var e buffer
		e.text(1, kv[0])
		e.text(2, kv[1])
		b.message(14, e)
	}
	if _, err := out.Write(b); err != nil {
		return err
	}
	return out.Flush()
}

// operators says which version of a collection of operators the nodes speak.
func operators(domain string, version int64) buffer {
	var b buffer
	b.text(1, domain)
	b.number(2, uint64(version))
	return b
}

func (n Node) encode() buffer {
	var b buffer
	for _, s := range n.In {
		b.text(1, s)
	}
	for _, s := range n.Out {
		b.text(2, s)
	}
	b.text(3, n.Out[0]+"/"+n.Op)
	b.text(4, n.Op)
	for _, a := range n.Attrs {
		b.message(5, a.encode())
	}
	if n.Domain != "" {
		b.text(7, n.Domain)
	}
	return b
}

func (a Attr) encode() buffer {
	var b buffer
	b.text(1, a.Name)
	var kind uint64
	switch v := a.Value.(type) {
	case float32:
		kind = 1
		b.key(2, 5)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	case int64:
		kind = 2
		b.number(3, uint64(v))
	case string:
		kind = 3
		b.text(4, v)
	case []int64:
		kind = 7
		for _, i := range v {
			b.number(8, uint64(i))
		}
	default:
		panic(fmt.Sprintf("onnxfile: attribute %s has type %T", a.Name, a.Value))
	}
	b.number(20, kind)
	return b
}

func (v Value) encode() buffer {
	var shape buffer
	for _, d := range v.Dims {
		var dim buffer
		switch d := d.(type) {
		case int:
			dim.number(1, uint64(d))
		case string:
			dim.text(2, d)
		default:
			panic(fmt.Sprintf("onnxfile: dimension of %s has type %T", v.Name, d))
		}
		shape.message(1, dim)
	}
	var tensor, typ, b buffer
	tensor.number(1, uint64(v.Type))
	tensor.message(2, shape)
	typ.message(1, tensor)
	b.text(1, v.Name)
	b.message(2, typ)
	return b
}

// buffer is a protocol-buffer message being built.
type buffer []byte

func (b *buffer) varint(v uint64)        { *b = binary.AppendUvarint(*b, v) }
func (b *buffer) key(field, kind uint64) { b.varint(field<<3 | kind) }
func (b *buffer) number(field, v uint64) { b.key(field, 0); b.varint(v) }
func (b *buffer) text(field uint64, s string) {
	b.key(field, 2)
	b.varint(uint64(len(s)))
	*b = append(*b, s...)
}
func (b *buffer) message(field uint64, m buffer) {
	b.key(field, 2)
	b.varint(uint64(len(m)))
	*b = append(*b, m...)
}

func varintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
