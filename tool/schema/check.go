package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep arguments may nest.
const maxDepth = 64

// Decode checks arguments against the schema and puts them into a struct of the type the schema was made
// from: defaults first, then what was given. A null for an optional member counts as left out.
// The error is one sentence that names the argument and says what is wanted.
func (s *Schema) Decode(raw json.RawMessage, into any) error {
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		raw = json.RawMessage("{}")
	}
	value, err := parse(raw)
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the arguments are %s, want an object", kind(value))
	}
	if err := s.check("", object); err != nil {
		return err
	}
	target := reflect.ValueOf(into).Elem()
	for _, f := range s.Fields {
		if f.Default != nil {
			setDefault(target.FieldByIndex(f.index), f.Default)
		}
		if v, given := object[f.Name]; given && v == nil {
			delete(object, f.Name)
		}
	}
	clean, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	if err := json.Unmarshal(clean, into); err != nil {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	return nil
}

func setDefault(v reflect.Value, d any) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.Set(reflect.ValueOf(d).Convert(v.Type()))
}

// Canonical writes arguments in one way whatever their order and white space, so that two calls can be compared.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}"), nil
	}
	value, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value) // maps are written with sorted keys
}

// parse reads one JSON value; a member that stands twice and too deep a nesting are errors, because
// readers do not agree on what they mean.
func parse(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("the arguments are followed by something else")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the arguments nest deeper than %d levels", maxDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON")
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON")
		}
		return list, nil
	}
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON")
		}
		name := key.(string)
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the argument %q stands twice", short(name))
		}
		if object[name], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON")
	}
	return object, nil
}

func (s *Schema) check(at string, v any) error {
	switch s.Type {
	case Any:
		return nil
	case Object:
		return s.checkObject(at, v)
	case Array:
		list, ok := v.([]any)
		if !ok {
			return wrong(at, v, "a list")
		}
		n := float64(len(list))
		if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
			return fmt.Errorf("%s has %d entries, want %s", name(at), len(list), s.between())
		}
		for i, item := range list {
			if err := s.Items.check(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
				return err
			}
		}
	case String:
		text, ok := v.(string)
		if !ok {
			return wrong(at, v, "text")
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
			return fmt.Errorf("%s is %q, want one of %s", name(at), short(text), strings.Join(s.Enum, ", "))
		}
		if n := utf8.RuneCountInString(text); s.MaxLen > 0 && n > s.MaxLen {
			return &TooLong{Argument: at, Length: n, Max: s.MaxLen}
		}
	case Boolean:
		if _, ok := v.(bool); !ok {
			return wrong(at, v, "true or false")
		}
	case Integer, Number:
		n, ok := v.(json.Number)
		if !ok {
			return wrong(at, v, "a number")
		}
		f, err := n.Float64()
		if err != nil || math.IsInf(f, 0) {
			return fmt.Errorf("%s is a number out of range", name(at))
		}
		if _, err := n.Int64(); s.Type == Integer && err != nil {
			return fmt.Errorf("%s is %s, want a whole number", name(at), short(n.String()))
		}
		if s.Min != nil && f < *s.Min || s.Max != nil && f > *s.Max {
			return fmt.Errorf("%s is %s, want %s", name(at), n, s.between())
		}
	}
	return nil
}

func (s *Schema) checkObject(at string, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return wrong(at, v, "an object")
	}
	if s.Items != nil {
		for key, item := range object {
			if err := s.Items.check(under(at, short(key)), item); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range s.Fields {
		item, given := object[f.Name]
		if !given || item == nil {
			if f.Required {
				return fmt.Errorf("%s is missing", name(under(at, f.Name)))
			}
			continue
		}
		if err := f.check(under(at, f.Name), item); err != nil {
			return err
		}
	}
	for key := range object {
		if !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == key }) {
			return fmt.Errorf("there is no argument %q; there %s", short(under(at, key)), s.has())
		}
	}
	return nil
}

// TooLong is a text over its limit.
type TooLong struct {
	Argument    string
	Length, Max int // characters
}

// Error names the argument and both lengths.
func (e *TooLong) Error() string {
	return fmt.Sprintf("%s has %d characters, at most %d are allowed", name(e.Argument), e.Length, e.Max)
}

func (s *Schema) has() string {
	if len(s.Fields) == 0 {
		return "are none"
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return "are " + strings.Join(names, ", ")
}

func (s *Schema) between() string {
	switch {
	case s.Min == nil:
		return fmt.Sprintf("at most %v", *s.Max)
	case s.Max == nil:
		return fmt.Sprintf("at least %v", *s.Min)
	}
	return fmt.Sprintf("between %v and %v", *s.Min, *s.Max)
}

func wrong(at string, v any, want string) error {
	return fmt.Errorf("%s is %s, want %s", name(at), kind(v), want)
}

func name(at string) string { return fmt.Sprintf("the argument %q", at) }

func under(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}

// short keeps what a caller sent out of the way of the sentence it stands in.
func short(s string) string {
	if len(s) <= 60 {
		return s
	}
	cut := 60
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
