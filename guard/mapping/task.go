package mapping

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/tenant"
)

// Task is what a tenant's sessions are for when they only look at one site.
type Task struct {
	// Start is an address on the site.
	Start  string
	Limits Limits
}

// ParseTasks reads "swarm=https://example.org pages=30 screenshots=5 minutes=10 clicks research; …": tenants are separated
// by ';' or new lines. Limits are clamped; what was cut is told, for the log.
func ParseTasks(s string) (tasks map[tenant.ID]Task, cut []string, err error) {
	tasks = map[tenant.ID]Task{}
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, rest, ok := strings.Cut(entry, "=")
		id := tenant.ID(strings.TrimSpace(name))
		if err := id.Check(); err != nil {
			return nil, nil, err
		}
		words := strings.Fields(rest)
		if !ok || len(words) == 0 {
			return nil, nil, fmt.Errorf("tenant %s: want tenant=address, with limits behind it", id)
		}
		if _, twice := tasks[id]; twice {
			return nil, nil, fmt.Errorf("tenant %s stands twice", id)
		}
		t := Task{Start: words[0]}
		if _, _, ok := originOf(t.Start); !ok {
			return nil, nil, fmt.Errorf("tenant %s: %.80q is no full http or https address", id, t.Start)
		}
		for _, word := range words[1:] {
			if err := t.Limits.set(word); err != nil {
				return nil, nil, fmt.Errorf("tenant %s: %w", id, err)
			}
		}
		var over []string
		t.Limits, over = t.Limits.Clamp()
		for _, o := range over {
			cut = append(cut, fmt.Sprintf("tenant %s: %s", id, o))
		}
		tasks[id] = t
	}
	return tasks, cut, nil
}

// set takes one word of a task.
func (l *Limits) set(word string) error {
	name, value, number := strings.Cut(word, "=")
	into := map[string]*int{"pages": &l.Pages, "screenshots": &l.Shots, "minutes": &l.Minutes}[name]
	switch {
	case word == "clicks":
		l.Clicks = true
	case word == "research":
		l.Research = true
	case into == nil:
		return fmt.Errorf("%.40q is none of pages=, screenshots=, minutes=, clicks, research", word)
	default:
		n, err := strconv.Atoi(value)
		if !number || err != nil || n < 1 {
			return errors.New(name + " takes a number from 1")
		}
		*into = n
	}
	return nil
}
