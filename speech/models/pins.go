package models

import (
	_ "embed" // the pins
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed pins.txt
var pinsPip string

//go:embed pins_npm.txt
var pinsNpm string

// pin is one package file: where it comes from and what it must be.
type pin struct {
	name, version string
	line          string // as pip wants it in a requirements file
	machine       string // x86_64, aarch64, or empty: any
	sha256        string
	bytes         int64
	npm           bool
}

// file is a pattern for the package's name in the cache: a wheel's name ends in tags that depend on the platform.
func (p pin) file() string {
	if p.npm {
		return fmt.Sprintf("%s-%s.tgz", p.name, p.version)
	}
	return fmt.Sprintf("%s-%s-*.whl", strings.ReplaceAll(p.name, "-", "_"), p.version)
}

var (
	pipLine = regexp.MustCompile(`^([a-z0-9-]+)==([0-9.]+)(?: ; platform_machine == "([a-z0-9_]+)")? --hash=sha256:([0-9a-f]{64}) # ([0-9]+)$`)
	npmLine = regexp.MustCompile(`^([a-z0-9-]+)@([0-9.]+) sha256:([0-9a-f]{64}) ([0-9]+)$`)
)

// parsePins gives the pins that hold for a machine, by package name.
func parsePins(pip, npm, machine string) (map[string]pin, error) {
	pins := map[string]pin{}
	add := func(p pin, size, line string) error {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return fmt.Errorf("models: pin %q: %w", line, err)
		}
		p.bytes = n
		if p.machine != "" && p.machine != machine {
			return nil
		}
		if _, twice := pins[p.name]; twice {
			return fmt.Errorf("models: %s is pinned twice", p.name)
		}
		pins[p.name] = p
		return nil
	}
	for line := range lines(pip) {
		m := pipLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("models: cannot read the pin %q", line)
		}
		text, _, _ := strings.Cut(line, " # ")
		if err := add(pin{name: m[1], version: m[2], machine: m[3], sha256: m[4], line: text}, m[5], line); err != nil {
			return nil, err
		}
	}
	for line := range lines(npm) {
		m := npmLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("models: cannot read the pin %q", line)
		}
		if err := add(pin{name: m[1], version: m[2], sha256: m[3], npm: true}, m[4], line); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

// lines gives the lines that are neither empty nor a remark.
func lines(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}
