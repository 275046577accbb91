// Package schema describes the arguments and results of tools from their Go types, checks arguments
// against the description, and writes it as JSON Schema.
//
// A struct's fields carry two tags beside `json`: `doc` is the sentence a model reads, `arg` holds the
// limits, separated by commas:
//
//	required, min=N, max=N (of a number, or the length of a list), maxlen=N (characters), default=V,
//	enum=a|b|c, untrusted (the text comes from a page or from people in a meeting), verbatim (the caller has to
//	hand it back or use it as it is, so that it is not looked through for secrets: a link of ours, a reference),
//	brief (clients are told what it means, and no limits: what is over them is refused with a sentence),
//	terse (clients are told the type alone: the same argument of another tool of the list says what it means),
//	unlisted (clients are not told of it: another tool of the list says that this one takes it as well)
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Type is a JSON type.
type Type string

// The types. Any is a value of whatever type.
const (
	Object  Type = "object"
	Array   Type = "array"
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Any     Type = ""
)

// Schema is what a value may be.
type Schema struct {
	Type   Type
	Doc    string
	Format string // of a string: "date-time"
	// Fields are an object's, in the order in which they are declared.
	Fields []Field
	// Items is what an array holds, or the values of an object without Fields.
	Items *Schema

	Enum      []string
	Min, Max  *float64
	MaxLen    int // characters; zero is no limit
	Default   any // a value of the type, or nil
	Untrusted bool
	Verbatim  bool
	// Terse leaves everything but the type, a choice and what is in it out of the schema that clients get; Brief leaves out
	// limits and the default alone; Unlisted all of it. An object with such members does not say that it takes no others:
	// its answer does.
	Brief, Terse, Unlisted bool
}

// Field is a member of an object.
type Field struct {
	Name     string
	Required bool
	*Schema
	index []int // of the Go struct's field
}

// Of describes a struct type. It panics when a tag is wrong: that is a defect of the table, found by its tests.
func Of(t reflect.Type) *Schema {
	s, err := of(t)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", t, err))
	}
	return s
}

var timeType = reflect.TypeFor[time.Time]()

func of(t reflect.Type) (*Schema, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		return of(t.Elem())
	case t == timeType:
		return &Schema{Type: String, Format: "date-time"}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: Boolean}, nil
	case reflect.String:
		return &Schema{Type: String}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &Schema{Type: Integer}, nil
	case reflect.Float64:
		return &Schema{Type: Number}, nil
	case reflect.Interface:
		return &Schema{Type: Any}, nil
	case reflect.Slice:
		items, err := of(t.Elem())
		return &Schema{Type: Array, Items: items}, err
	case reflect.Map:
		items, err := of(t.Elem())
		return &Schema{Type: Object, Items: items}, err
	case reflect.Struct:
		s := &Schema{Type: Object}
		return s, s.addFields(t, nil)
	}
	return nil, fmt.Errorf("no JSON type for %s", t)
}

func (s *Schema) addFields(t reflect.Type, index []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		if f.Anonymous && f.Tag.Get("json") == "" {
			if err := s.addFields(f.Type, at); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			return fmt.Errorf("field %s has no json name", f.Name)
		}
		sub, err := of(f.Type)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		sub.Doc = f.Tag.Get("doc")
		field := Field{Name: name, Schema: sub, index: at}
		if err := field.limits(f.Tag.Get("arg")); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		s.Fields = append(s.Fields, field)
	}
	return nil
}

func (f *Field) limits(tag string) error {
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "":
		case "required":
			f.Required = true
		case "untrusted":
			f.Untrusted = true
		case "verbatim":
			f.Verbatim = true
		case "brief":
			f.Brief = true
		case "terse":
			f.Brief, f.Terse = true, true
		case "unlisted":
			f.Unlisted = true
		case "enum":
			f.leaf().Enum = strings.Split(value, "|")
		case "min":
			f.Min, err = number(value)
		case "max":
			f.Max, err = number(value)
		case "maxlen":
			f.leaf().MaxLen, err = strconv.Atoi(value)
		case "default":
			f.Default, err = f.parse(value)
		default:
			err = fmt.Errorf("unknown limit %q", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf is where the limits of a text go: the items, when the field is a list of texts.
func (f *Field) leaf() *Schema {
	if f.Type == Array {
		return f.Items
	}
	return f.Schema
}

func (f *Field) parse(value string) (any, error) {
	switch f.Type {
	case Boolean:
		return strconv.ParseBool(value)
	case Integer:
		return strconv.ParseInt(value, 10, 64)
	case Number:
		return strconv.ParseFloat(value, 64)
	case String:
		return value, nil
	case Array:
		return strings.Split(value, "|"), nil
	}
	return nil, fmt.Errorf("no default for type %q", f.Type)
}

func number(s string) (*float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	return &n, err
}

// Input writes the schema for arguments: members that are not declared are refused.
func (s *Schema) Input() json.RawMessage { return s.write(true) }

// Output writes the schema for results: members may be added later. Only the first level says what it means:
// many hosts put the whole of it before their model, which reads the results themselves well enough.
func (s *Schema) Output() json.RawMessage { return s.bare(1).write(false) }

// bare is the schema without what explains levels below depth.
func (s *Schema) bare(depth int) *Schema {
	if s == nil {
		return nil
	}
	out := *s
	if depth < 0 {
		out.Doc = ""
	}
	out.Items = s.Items.bare(depth - 1)
	out.Fields = make([]Field, len(s.Fields))
	for i, f := range s.Fields {
		out.Fields[i] = Field{Name: f.Name, Required: f.Required, Schema: f.Schema.bare(depth - 1)}
	}
	return &out
}

func (s *Schema) write(closed bool) json.RawMessage {
	var b bytes.Buffer
	s.append(&b, closed)
	return b.Bytes()
}

// append writes members in declared order, which a map would lose.
func (s *Schema) append(b *bytes.Buffer, closed bool) {
	sep := byte('{')
	member := func(name string, value any) {
		b.WriteByte(sep)
		sep = ','
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // only our own constants come here
		}
		fmt.Fprintf(b, "%q:%s", name, text)
	}
	if s.Type != Any {
		member("type", s.Type)
	}
	if s.Doc != "" && !s.Terse {
		doc := s.Doc
		if s.Brief {
			doc = strings.TrimSuffix(doc, ".")
		}
		member("description", doc)
	}
	if s.Format != "" {
		member("format", s.Format)
	}
	if len(s.Enum) > 0 {
		member("enum", s.Enum)
	}
	if s.Default != nil && !s.Brief {
		member("default", s.Default)
	}
	low, high := "minimum", "maximum"
	if s.Type == Array {
		low, high = "minItems", "maxItems"
	}
	if s.Min != nil && !s.Brief {
		member(low, *s.Min)
	}
	if s.Max != nil && !s.Brief {
		member(high, *s.Max)
	}
	if s.MaxLen > 0 && !s.Brief {
		member("maxLength", s.MaxLen)
	}
	if s.Type == Array {
		member("items", s.Items.write(closed))
	}
	if s.Type == Object && s.Items != nil {
		member("additionalProperties", s.Items.write(closed))
	}
	if s.Type == Object && s.Items == nil {
		var props bytes.Buffer
		var required []string
		short := false
		props.WriteByte('{')
		for _, f := range s.Fields {
			if closed && f.Unlisted {
				short = true
				continue
			}
			short = short || f.Brief
			if props.Len() > 1 {
				props.WriteByte(',')
			}
			fmt.Fprintf(&props, "%q:%s", f.Name, f.write(closed))
			if f.Required {
				required = append(required, f.Name)
			}
		}
		props.WriteByte('}')
		member("properties", json.RawMessage(props.Bytes()))
		if len(required) > 0 {
			member("required", required)
		}
		if closed && !short && len(s.Fields) > 0 {
			member("additionalProperties", false)
		}
	}
	if sep == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
}
