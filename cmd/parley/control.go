package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/control/action"
	"parley/control/chrome"
	"parley/control/connection"
	"parley/control/endpoint"
	"parley/control/gateway"
	"parley/control/publish"
	"parley/control/shot"
	"parley/control/span"
	"parley/control/trusted"
	"parley/control/vault"
	"parley/guard/egress"
	"parley/internal/settings"
	"parley/store"
	"parley/tenant"
)

// control is the control endpoint with what it is made of.
type control struct {
	endpoint *endpoint.Endpoint
	trusted  *trusted.Server
	vault    *vault.Vault
	gateway  *gateway.Gateway
	pages    *chrome.Browser // nil: pages are not worked
	data     string
}

// openControl starts the control endpoint where it is switched on. It serves the tenant that local commands act for.
func (a *app) openControl(ctx context.Context, data string) error {
	if !a.v.Bool("PARLEY_CONTROL") {
		return nil
	}
	t, err := a.registry.Local(tenant.ID(a.v.String("PARLEY_TENANT")))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	c := &control{data: data, vault: vault.New(a.store.Credentials, t.ID, vault.Options{})}
	desk := &action.Desk{Tenant: t.ID, Store: a.store, Vault: c.vault, Reader: shot.FindTesseract(""), Now: time.Now}
	if u := a.v.String("PARLEY_CONTROL_AI_URL"); u != "" {
		if c.gateway, err = gateway.New(gateway.Options{URL: u, Key: a.v.String("PARLEY_CONTROL_AI_KEY"), Model: a.v.String("PARLEY_CONTROL_AI_MODEL")}); err != nil {
			return &exitError{exitUsage, fmt.Errorf("PARLEY_CONTROL_AI_URL: %w", err)}
		}
		desk.AI = c.gateway
	}
	if a.v.Bool("PARLEY_CONTROL_BROWSER") {
		c.pages = a.sessionsOf(t.ID)
		desk.Browser = c.pages
	}
	a.control = c
	spans := new(span.Recorder)
	spans.To(func(s span.Span) {
		a.log.Debug("control span", "trace", s.Trace, "name", string(s.Name), "parent", string(s.Parent), "took", s.Took, "failed", s.Failed)
	})
	spans.Switch(a.v.Bool("PARLEY_CONTROL_SPANS"))
	c.endpoint, err = endpoint.Start(ctx, endpoint.Options{
		Data: data, Keyring: a.v.Bool("PARLEY_CONTROL_KEYRING"), Tenant: t, Desk: desk, Tools: a.tools, Guard: a.guard.choke.Install, Audit: a.guard.audit.Write, Spans: spans, Log: a.log,
	})
	if errors.Is(err, endpoint.ErrRunning) {
		a.log.Warn("PARLEY_CONTROL=1: " + err.Error() + "; this one has none")
		a.control = nil
		return c.close(ctx)
	}
	if err != nil {
		return fmt.Errorf("the control endpoint: %w", err)
	}
	if c.trusted, err = trusted.Listen(trustedDir(data), c.order); err != nil {
		return err
	}
	a.log.Info("the control endpoint is on", "address", c.endpoint.Address(), "policy_version", c.endpoint.Policy().Version)
	return nil
}

func (c *control) close(ctx context.Context) error {
	var errs []error
	if c.trusted != nil {
		errs = append(errs, c.trusted.Close())
	}
	if c.endpoint != nil {
		errs = append(errs, c.endpoint.Close(ctx))
	}
	c.vault.Lock()
	if c.pages != nil {
		c.pages.End()
	}
	if c.gateway != nil {
		c.gateway.Close()
	}
	return errors.Join(errs...)
}

// sessionsOf shows the endpoint the tenant's browser sessions. Where the tenant has a list of hosts, the sessions' own way
// out keeps to it; where it has none, the endpoint moves no tab to this machine or a private network.
func (a *app) sessionsOf(t tenant.ID) *chrome.Browser {
	o := chrome.Options{Log: a.log}
	if _, confined := a.guard.allow[t]; !confined {
		o.Permits = publicHost
	}
	return chrome.New(a.browsers, string(t), o)
}

// publicHost refuses this machine and private networks where they are written as such. A name that leads there is not caught.
func publicHost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err != nil || egress.Public(ip)
}

// trustedDir is where the account's own orders go: short, since a socket lies in it.
func trustedDir(data string) string {
	return ownDir("control", data)
}

// login is what add-login takes.
type login struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	User   string `json:"userField"`
	Pass   string `json:"passwordField"`
	Login  vault.Login
}

// order carries out what the account's person asks for. No agent's action gets here.
func (c *control) order(ctx context.Context, r trusted.Request) (any, error) {
	var text string
	body := func(into any) error {
		if err := json.Unmarshal(r.Body, into); err != nil {
			return fmt.Errorf("what %s takes: %w", r.Word, err)
		}
		return nil
	}
	switch r.Word {
	case "state":
		p := c.endpoint.Policy()
		v, err := c.vault.State(ctx)
		return map[string]any{"address": c.endpoint.Address(), "policyVersion": p.Version, "enabled": p.Enabled, "identityMode": p.Mode, "scopes": p.Scopes,
			"grants": p.Grants, "vault": map[string]bool{"exists": v.Exists, "locked": v.Locked}, "late": c.endpoint.Late()}, err
	case "publish":
		if err := c.endpoint.Publish(r.Body); err != nil {
			return nil, err
		}
		return map[string]any{"policyVersion": c.endpoint.Policy().Version}, nil
	case "issue":
		if err := body(&text); err != nil {
			return nil, err
		}
		for _, g := range c.endpoint.Policy().Grants {
			if g.ID == text {
				path, err := c.endpoint.Issue(g.ID, g.Generation, g.Expires)
				return map[string]any{"connection": path, "generation": g.Generation, "expires": g.Expires}, err
			}
		}
		return nil, fmt.Errorf("no grant %q is published", text)
	case "revoke":
		c.endpoint.Revoke()
		return map[string]any{"revoked": true}, nil
	case "init-vault", "unlock":
		if err := body(&text); err != nil {
			return nil, err
		}
		do := c.vault.Unlock
		if r.Word == "init-vault" {
			do = c.vault.Init
		}
		return map[string]any{"locked": false}, do(ctx, text)
	case "lock":
		c.vault.Lock()
		return map[string]any{"locked": true}, nil
	case "add-login":
		var l login
		if err := body(&l); err != nil {
			return nil, err
		}
		f := publish.Form{Action: l.Action, User: l.User, Pass: l.Pass}
		if err := f.Check(); err != nil {
			return nil, err
		}
		if l.ID == "" || len(l.ID) > 64 || l.Login.User == "" || l.Login.Pass == "" {
			return nil, errors.New("a login needs an id of up to 64 characters, a user and a password")
		}
		return map[string]any{"id": l.ID}, c.vault.Add(ctx, store.Credential{ID: l.ID, Origin: f.Origin(), Action: f.Action, UserField: f.User, PassField: f.Pass}, l.Login)
	case "logins":
		all, err := c.vault.List(ctx)
		if err != nil {
			return nil, err
		}
		out := []map[string]string{}
		for _, l := range all {
			out = append(out, map[string]string{"id": l.ID, "action": l.Action})
		}
		return out, nil
	case "remove-login":
		if err := body(&text); err != nil {
			return nil, err
		}
		return map[string]any{"removed": text}, c.vault.Remove(ctx, text)
	}
	return nil, fmt.Errorf("there is no order %q", r.Word)
}

// adminWords are the orders of parley control admin, with what each takes.
var adminWords = []struct{ word, args, what string }{
	{"state", "", "how the endpoint is"},
	{"publish", "FILE", "publish a policy with its grants"},
	{"issue", "GRANT", "make a grant's credential; prints the path of its connection file"},
	{"revoke", "", "end the endpoint for good, until the service is started anew"},
	{"init-vault", "", "make the vault; the passphrase is the first line of standard input"},
	{"unlock", "", "open the vault, likewise"},
	{"lock", "", "close the vault"},
	{"add-login", "FILE", "keep a login: {id, action, userField, passwordField, Login: {user, pass}}"},
	{"logins", "", "list the logins, without their secrets"},
	{"remove-login", "ID", "forget a login"},
}

func adminHelp() string {
	out := ""
	for _, w := range adminWords {
		out += fmt.Sprintf("  %-26s %s\n", "admin "+w.word+" "+w.args, w.what)
	}
	return out
}

func isAdmin(word string) bool {
	return slices.ContainsFunc(adminWords, func(w struct{ word, args, what string }) bool { return w.word == word })
}

// connectionPath is the connection file that is used when none is named.
func connectionPath(v *settings.Values) string { return filepath.Join(dataDir(v), connection.Name) }
