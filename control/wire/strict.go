package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

const maxDepth = 32

// strictJSON refuses what two decoders could read in two ways: doubled names, broken UTF-8, anything after the value,
// and nesting deeper than any message of ours.
func strictJSON(data []byte) error {
	if !utf8.Valid(data) {
		return ErrMalformed
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := strictValue(d, 0); err != nil {
		return ErrMalformed
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrMalformed
	}
	return nil
}

func strictValue(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth >= maxDepth {
		return ErrMalformed
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name, ok := t.(string)
			if !ok || seen[name] {
				return ErrMalformed
			}
			seen[name] = true
		}
		if err := strictValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// object splits an object into its members, every one of which must be among names; names compare exactly, unlike in
// the usual decoder.
func object(data []byte, names ...string) (map[string]json.RawMessage, error) {
	if err := strictJSON(data); err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil || m == nil {
		return nil, ErrMalformed
	}
	known := 0
	for _, n := range names {
		if _, ok := m[n]; ok {
			known++
		}
	}
	if known != len(m) {
		return nil, ErrMalformed
	}
	return m, nil
}
