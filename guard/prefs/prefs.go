// Package prefs keeps the policy's configuration: the one module through which every editor reads and writes it.
package prefs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"parley/guard/policy"
	"parley/tenant"
)

// FileName is where a data folder keeps the configuration.
const FileName = "policy.json"

// Every is how often the file is looked at: a change by hand holds, and is told to everybody, within two seconds.
const Every = time.Second

// Options say which tables hold and where the configuration is. Path is needed.
type Options struct {
	// Path of the file; a missing one changes nothing.
	Path string
	// Table of every tenant that Tables does not name; empty: policy.Standard.
	Table  string
	Tables map[tenant.ID]string
	// Unattended is the value of PARLEY_UNATTENDED.
	Unattended string
	// Admins administer the policy: for them the fence can be off.
	Admins map[tenant.ID]bool
	Log    *slog.Logger // nil: silent
}

// Prefs are the preferences in force. Safe for concurrent use.
type Prefs struct {
	o Options

	mu       sync.Mutex
	raw      []byte // of the file as it was read; nil: there is none
	config   policy.Config
	policies map[key]*policy.Policy
	subs     map[chan struct{}]bool
}

// key is what a policy depends on.
type key struct {
	table string
	admin bool
}

// Open reads the configuration. A bad one is an error that names what is wrong: the service does not start with it.
func Open(o Options) (*Prefs, error) {
	if o.Table == "" {
		o.Table = policy.Standard
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Prefs{o: o, subs: map[chan struct{}]bool{}}
	raw, err := read(o.Path)
	if err != nil {
		return nil, err
	}
	if err := p.take(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	return p, nil
}

// maxFile bounds the file: a rule for each of a few dozen names is all that it can hold.
const maxFile = 1 << 20

// read reads the file; nil is none. What is no ordinary file is an error: a pipe would make everybody wait who asks what
// the policy says.
func read(path string) (raw []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the policy's configuration: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the policy's configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the policy's configuration: %s is no ordinary file", path)
	}
	if raw, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, fmt.Errorf("the policy's configuration: %w", err)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("the policy's configuration: %s has more than %d bytes", path, maxFile)
	}
	return raw, nil
}

// take makes what a file says hold, or changes nothing. It has the lock, or nobody else has p yet.
func (p *Prefs) take(raw []byte) error {
	var c policy.Config
	if len(bytes.TrimSpace(raw)) > 0 {
		var err error
		if c, err = policy.ParseConfig(raw); err != nil {
			return err
		}
	}
	policies, err := p.build(c)
	if err != nil {
		return err
	}
	p.raw, p.config, p.policies = raw, c, policies
	return nil
}

// build makes the policy of every table and rank that some tenant has.
func (p *Prefs) build(c policy.Config) (map[key]*policy.Policy, error) {
	out := map[key]*policy.Policy{}
	tables := []string{p.o.Table}
	for _, t := range p.o.Tables {
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	for _, table := range tables {
		for _, admin := range []bool{false, true} {
			mine := c
			if off := c.Guardrails.Fence; off != nil && !*off && !admin {
				if len(p.o.Admins) == 0 {
					return nil, errors.New("guardrails.fence: only a tenant with the grant policy may have the fence off, and there is none")
				}
				mine.Guardrails.Fence = nil // it is off for those who administer, and for nobody else
			}
			pol, warnings, err := policy.New(policy.Source{Table: table, Unattended: p.o.Unattended, Admin: admin}, mine)
			if err != nil {
				return nil, err
			}
			if len(out) == 0 {
				for _, w := range warnings {
					p.o.Log.Warn(w)
				}
			}
			out[key{table, admin}] = pol
		}
	}
	return out, nil
}

// Of gives a tenant's policy.
func (p *Prefs) Of(t tenant.ID) *policy.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	table := p.o.Table
	if own, ok := p.o.Tables[t]; ok {
		table = own
	}
	return p.policies[key{table, p.o.Admins[t]}]
}

// Rows describe every rule of a tenant's policy, for the pages and commands that edit it.
func (p *Prefs) Rows(t tenant.ID) []policy.Row { return p.Of(t).Settings() }

// Write changes one rule for everybody, through the policy's own gate, and keeps the file as the only place where it
// stands. A file that somebody changed by hand since it was read is read first.
func (p *Prefs) Write(w *policy.Writer, t tenant.ID, ch policy.Change) error {
	gate := p.Of(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, err := read(p.o.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(raw, p.raw) {
		if err := p.take(raw); err != nil {
			return fmt.Errorf("%s was changed by hand, and has to be put right first: %w", p.o.Path, err)
		}
	}
	c, err := gate.Write(w, p.config, ch)
	if err != nil {
		return err
	}
	next, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("the policy's configuration: %w", err)
	}
	next = append(next, '\n')
	if _, err := p.build(c); err != nil {
		return err
	}
	if err := replace(p.o.Path, next); err != nil {
		return err
	}
	if err := p.take(next); err != nil {
		return err
	}
	p.tell()
	return nil
}

// replace writes a file whole or not at all.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".policy-*") // 0600
	if err != nil {
		return fmt.Errorf("the policy's configuration: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the policy's configuration: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("the policy's configuration: %w", err)
	}
	return nil
}

// Changes gives a channel that has one when the configuration changed since it was last read, by whomever. Stop ends it.
func (p *Prefs) Changes() (changes <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs[c] = true
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, c)
	}
}

func (p *Prefs) tell() {
	for c := range p.subs {
		select {
		case c <- struct{}{}:
		default: // it has not looked at the last one yet
		}
	}
}

// Watch takes changes that were made by hand until ctx ends. A bad file, or one that cannot be read, changes nothing and is
// logged once.
func (p *Prefs) Watch(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	var w watch
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.look(&w)
		}
	}
}

// watch is what Watch knows of its last looks.
type watch struct {
	refused []byte // a file that was wrong
	unread  string // why there was none
	emptied bool   // the file was gone or empty
}

// look looks at the file once.
func (p *Prefs) look(w *watch) {
	raw, err := read(p.o.Path)
	if err != nil {
		if why := err.Error(); why != w.unread {
			w.unread = why
			p.o.Log.Error("the policy's configuration cannot be read; the old one holds", "file", p.o.Path, "err", err)
		}
		return
	}
	w.unread = ""
	p.mu.Lock()
	defer p.mu.Unlock()
	if bytes.Equal(raw, p.raw) {
		*w = watch{}
		return
	}
	// Who writes a file anew empties or removes it first. For that moment the rules in it do not fall.
	if empty := len(bytes.TrimSpace(raw)) == 0; empty && !w.emptied {
		w.emptied = true
		return
	} else if !empty {
		w.emptied = false
	}
	if w.refused != nil && bytes.Equal(raw, w.refused) {
		return
	}
	if err := p.take(raw); err != nil {
		w.refused = append([]byte{}, raw...)
		p.o.Log.Error("the policy's configuration was changed and is wrong; the old one holds", "file", p.o.Path, "err", err)
		return
	}
	*w = watch{}
	p.o.Log.Info("the policy's configuration changed", "file", p.o.Path)
	p.tell()
}

// ParseTables reads PARLEY_POLICY: "guarded", or "standard, swarm=guarded": a table for everybody and those of single
// tenants.
func ParseTables(s string) (all string, each map[tenant.ID]string, err error) {
	all, each = policy.Standard, map[tenant.ID]string{}
	seen := false
	for _, entry := range splitList(s) {
		name, table, named := cut(entry)
		if !named {
			table = entry
		}
		if table != policy.Standard && table != policy.Guarded {
			return "", nil, fmt.Errorf("%.40q is none of %s, %s", table, policy.Standard, policy.Guarded)
		}
		if !named {
			if seen {
				return "", nil, errors.New("two tables for everybody")
			}
			all, seen = table, true
			continue
		}
		id := tenant.ID(name)
		if err := id.Check(); err != nil {
			return "", nil, err
		}
		if _, twice := each[id]; twice {
			return "", nil, fmt.Errorf("tenant %s stands twice", id)
		}
		each[id] = table
	}
	return all, each, nil
}
