// Package settings is the one table of everything that can be set: its name, shape, default and meaning,
// and where a value came from.
package settings

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Setting is one line of the table.
type Setting struct {
	Name    string
	Default string
	// Shape is how a value looks ("whole number, 1 or more"), for people.
	Shape   string
	Meaning string
	// Check refuses a bad value with a reason; nil accepts everything.
	Check func(value string) error
	// Secret values are never printed.
	Secret bool
}

// Source is where a value came from.
type Source string

// The sources, strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Values are the settings in force.
type Values struct {
	table   map[string]Setting
	order   []string
	value   map[string]string
	source  map[string]Source
	file    string
	lookEnv func(string) (string, bool)
}

// Options say where Load looks. The zero value reads the process's environment and the default file.
type Options struct {
	// Flags are values given on the command line, by setting name.
	Flags map[string]string
	// LookupEnv is os.LookupEnv when nil.
	LookupEnv func(string) (string, bool)
	// File is the settings file; empty means PARLEY_CONFIG, else parley/parley.conf in the user's
	// configuration folder, where a missing file is fine.
	File string
}

// Load collects the values of all settings and checks each one. The error names every bad setting.
func Load(o Options) (*Values, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	v := &Values{table: map[string]Setting{}, value: map[string]string{}, source: map[string]Source{}, lookEnv: o.LookupEnv}
	for _, s := range Table {
		v.table[s.Name] = s
		v.order = append(v.order, s.Name)
	}
	fromFile, err := v.readFile(o)
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, s := range Table {
		value, source := s.Default, FromDefault
		if f, ok := fromFile[s.Name]; ok {
			value, source = f, FromFile
		}
		// An empty variable counts as not set: that is how a wrapper script unsets one.
		if e, ok := o.LookupEnv(s.Name); ok && e != "" {
			value, source = e, FromEnv
		}
		if f, ok := o.Flags[s.Name]; ok {
			value, source = f, FromFlag
		}
		if value == "" { // set to nothing is not set
			value = s.Default
		}
		if s.Check != nil && value != "" {
			if err := s.Check(value); err != nil {
				shown := fmt.Sprintf("%q", value)
				if s.Secret {
					shown = "(a secret)"
				}
				bad = append(bad, fmt.Errorf("%s=%s (from the %s): %w; expected: %s", s.Name, shown, source, err, s.Shape))
			}
		}
		v.value[s.Name], v.source[s.Name] = value, source
	}
	for name := range o.Flags {
		if _, ok := v.table[name]; !ok {
			bad = append(bad, fmt.Errorf("%s: there is no such setting; see parley config", name))
		}
	}
	return v, errors.Join(bad...)
}

func (v *Values) readFile(o Options) (map[string]string, error) {
	path, named := o.File, o.File != ""
	if !named {
		path, _ = o.LookupEnv("PARLEY_CONFIG")
		named = path != ""
	}
	if !named {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, nil // no home: there is no file to read
		}
		path = filepath.Join(dir, "parley", "parley.conf")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	defer f.Close()
	v.file = path
	values, err := parseFile(f, func(name string) bool { _, ok := v.table[name]; return ok })
	if err != nil {
		return nil, fmt.Errorf("settings file %s: %w", path, err)
	}
	return values, nil
}

// parseFile reads NAME=VALUE lines; blank lines and lines that begin with # are skipped, a value may stand
// in single or double quotes.
func parseFile(r interface{ Read([]byte) (int, error) }, known func(string) bool) (map[string]string, error) {
	values := map[string]string{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("line %d is not NAME=VALUE", n)
		}
		if !known(name) {
			return nil, fmt.Errorf("line %d: there is no setting %q; see parley config", n, name)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("line %d sets %s a second time", n, name)
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		values[name] = value
	}
	return values, sc.Err()
}

// Names lists all settings in the table's order.
func (v *Values) Names() []string { return v.order }

// Describe gives the setting's line of the table.
func (v *Values) Describe(name string) Setting { return v.table[name] }

// From is where a value came from.
func (v *Values) From(name string) Source { return v.source[name] }

// File is the settings file that was read; empty when there was none.
func (v *Values) File() string { return v.file }

// String is the value of a setting. An unknown name is a defect of the caller.
func (v *Values) String(name string) string {
	s, ok := v.value[name]
	if !ok {
		panic("settings: no setting " + name)
	}
	return s
}

// Shown is the value as it may be printed: secrets are not.
func (v *Values) Shown(name string) string {
	s := v.String(name)
	if v.table[name].Secret && s != "" {
		return "(set)"
	}
	return s
}

// Unknown lists PARLEY_ variables of an environment that no setting has: most are misspelt.
func Unknown(environ []string) []string {
	known := map[string]bool{"PARLEY_CONFIG": true, "PARLEY_URL": true, "PARLEY_TOKEN": true, "PARLEY_IDLE_EXIT_SEC": true}
	for _, s := range Table {
		known[s.Name] = true
	}
	var odd []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "PARLEY_") && !known[name] {
			odd = append(odd, name)
		}
	}
	sort.Strings(odd)
	return odd
}
