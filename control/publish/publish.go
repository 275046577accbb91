// Package publish is what an administrator publishes for the control endpoint: who may do what, and what agents only read.
package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"parley/control/grant"
	"parley/control/inspect"
	"parley/control/tabs"
)

// Mode says how agents are told apart.
type Mode string

// The modes.
const (
	// Legacy has one shared pairing, with the principal Shared.
	Legacy Mode = "legacy"
	// Individual has a credential for each published grant, and no other.
	Individual Mode = "individual"
)

// Shared is the id of the one principal of Legacy.
const Shared = "local"

// Policy is a publication. It does not change once it was taken.
type Policy struct {
	// Version counts publications; a new one must be higher.
	Version uint64 `json:"version"`
	// Enabled false permits nothing.
	Enabled bool `json:"enabled"`
	Mode    Mode `json:"identityMode"`
	// Scopes are the names of the actions that are permitted to anybody at all; empty permits none.
	Scopes []grant.Scope `json:"scopes"`
	// Hosts are where agents may act; empty leaves it to the browser.
	Hosts []string `json:"allowedHosts,omitempty"`
	// SensitiveRead permits reading what inspection classes as card, account or marked.
	SensitiveRead bool                    `json:"allowSensitiveRead,omitempty"`
	Groups        map[string]grant.Policy `json:"groups,omitempty"`
	Grants        []grant.Grant           `json:"grants,omitempty"`
	Settings      Settings                `json:"settings,omitzero"`
	// Bookmarks are the company's: agents read them and never change them.
	Bookmarks []Bookmark `json:"bookmarks,omitempty"`
	Passwords Passwords  `json:"passwordManager,omitzero"`
}

// Settings says which sections an agent does not see, or sees and may not change: "appearance", or one of its members
// such as "appearance.mode".
type Settings struct {
	Hidden []string `json:"hiddenSections,omitempty"`
	Locked []string `json:"lockedSections,omitempty"`
}

// Bookmark is a company's.
type Bookmark struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	URL    string `json:"url"`
	Folder string `json:"folder,omitempty"`
}

// Passwords says what agents may have done with logins.
type Passwords struct {
	Enabled  bool `json:"enabled"`
	Autofill bool `json:"autofill,omitempty"`
	// Submission permits preparing one submission of an approved form.
	Submission bool   `json:"controlledSubmission,omitempty"`
	Forms      []Form `json:"forms,omitempty"`
}

// Form is an approved login form.
type Form struct {
	Action string `json:"action"` // exact, canonical, https
	User   string `json:"userField"`
	Pass   string `json:"passwordField"`
}

// Origin is scheme and authority of the form's address.
func (f Form) Origin() string {
	u, err := url.Parse(f.Action)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Default is what holds until something is published: the shared pairing, with the scopes that are offered at first.
func Default() *Policy {
	return &Policy{Version: 1, Enabled: true, Mode: Legacy, Scopes: grant.DefaultScopes()}
}

// ErrPolicy says that a publication cannot be taken.
var ErrPolicy = errors.New("the policy cannot be published")

// MaxPolicy is how long a publication may be in bytes.
const MaxPolicy = 1 << 20

// Parse reads a publication and checks it. known names further actions that scopes may name: tools.
func Parse(raw []byte, known func(string) bool) (*Policy, error) {
	if len(raw) > MaxPolicy {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrPolicy, MaxPolicy)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	p := new(Policy)
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrPolicy)
	}
	return p, p.Check(known)
}

// Check says what is wrong with a publication.
func (p *Policy) Check(known func(string) bool) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrPolicy}, args...)...)
	}
	scopes := func(where string, list []grant.Scope) error {
		for _, s := range list {
			if _, ok := grant.Lookup(string(s)); !ok && (known == nil || !known(string(s))) {
				return bad("%s: there is no action %q", where, s)
			}
		}
		return nil
	}
	switch {
	case p.Version == 0:
		return bad("version counts from 1")
	case p.Mode != Legacy && p.Mode != Individual:
		return bad("identityMode is legacy or individual")
	case p.Mode == Legacy && len(p.Grants) > 0:
		return bad("grants need identityMode individual")
	}
	if err := errors.Join(scopes("scopes", p.Scopes), hosts("allowedHosts", p.Hosts)); err != nil {
		return err
	}
	for name, g := range p.Groups {
		if err := errors.Join(scopes("group "+name, g.Scopes), hosts("group "+name, g.Hosts)); err != nil {
			return err
		}
	}
	for _, g := range p.Grants {
		if err := errors.Join(g.Check(known), hosts("grant "+g.ID, g.Hosts)); err != nil {
			return fmt.Errorf("%w: %w", ErrPolicy, err)
		}
		if _, ok := p.Groups[g.Group]; g.Group != "" && !ok {
			return bad("grant %s: there is no group %q", g.ID, g.Group)
		}
		if g.ID == Shared {
			return bad("the id %s is the shared pairing's", Shared)
		}
	}
	for _, s := range slices.Concat(p.Settings.Hidden, p.Settings.Locked) {
		if !slices.Contains(Sections(), s) {
			return bad("there is no settings section %q", s)
		}
	}
	seen := map[string]bool{}
	for _, b := range p.Bookmarks {
		if b.ID == "" || len(b.ID) > 64 || seen[b.ID] || tabs.HostOf(b.URL) == "" || len(b.Title) > 1024 || len(b.URL) > 8192 || len(b.Folder) > 1024 {
			return bad("bookmark %q: an id of its own, a title and a web address are needed", b.ID)
		}
		seen[b.ID] = true
	}
	for _, f := range p.Passwords.Forms {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check says whether the address is exact and canonical, and the names fit for two fields.
func (f Form) Check() error {
	u, err := url.Parse(f.Action)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(f.Action, "#") || u.String() != f.Action ||
		u.Path == "" || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "/../") || strings.Contains(u.Path, "/./") || strings.HasSuffix(u.Host, ":443") ||
		strings.ToLower(u.Host) != u.Host || strings.HasSuffix(u.Hostname(), ".") {
		return fmt.Errorf("%w: a form's action must be an exact canonical https address", ErrPolicy)
	}
	if f.User == "" || f.Pass == "" || f.User == f.Pass || len(f.User) > 128 || len(f.Pass) > 128 {
		return fmt.Errorf("%w: a form needs two different names for the fields of user and password", ErrPolicy)
	}
	return nil
}

func hosts(where string, list []string) error {
	for _, h := range list {
		name := strings.TrimPrefix(h, "*.")
		if name == "" || strings.ToLower(name) != name || strings.ContainsAny(name, "*/:@ ?#") || tabs.HostOf("https://"+name+"/") != name {
			return fmt.Errorf("%w: %s: %q is no host name and no *.host", ErrPolicy, where, h)
		}
	}
	return nil
}

// Sections are the settings sections, each with its members.
func Sections() []string {
	return []string{"appearance", "appearance.mode", "appearance.accent", "appearance.tabMode"}
}

// Authority is what global policy, group and grant all permit.
func (p *Policy) Authority(g *grant.Grant) grant.Authority {
	base := grant.Policy{Enabled: p.Enabled, Scopes: p.Scopes, Hosts: p.Hosts}.Authority()
	if p.Mode == Legacy || g == nil {
		if p.Mode != Legacy {
			return grant.Authority{}
		}
		return base
	}
	if g.Group == "" {
		return grant.Intersect(base, g.Authority())
	}
	return grant.Intersect(base, p.Groups[g.Group].Authority(), g.Authority())
}

// Managed finds a company's bookmark.
func (p *Policy) Managed(id string) bool {
	return slices.ContainsFunc(p.Bookmarks, func(b Bookmark) bool { return b.ID == id })
}

// Refuses says whether this content must not leave under this policy.
func (p *Policy) Refuses(classes []inspect.Class) bool {
	return inspect.Refuses(classes, p.SensitiveRead)
}
