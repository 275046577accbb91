package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"parley/browser"
	"parley/browser/chromium"
	"parley/guard/choke"
	"parley/internal/proc"
	"parley/internal/settings"
	"parley/tenant"
)

// openBrowsers makes the manager of browser sessions. Nothing runs before the first session is opened.
func (a *app) openBrowsers(data string) error {
	engines, err := engines(a.v)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("PARLEY_FEATURES_ENGINES: %w", err)}
	}
	o := chromium.Options{Path: a.v.String("PARLEY_CHROMIUM"), NoSandbox: !a.v.Bool("PARLEY_CHROMIUM_SANDBOX"),
		FramesInside: a.v.Bool("PARLEY_CONTROL") && a.v.Bool("PARLEY_CONTROL_BROWSER")}
	profiles := filepath.Join(data, "profiles")
	if os.Geteuid() == 0 {
		account, err := proc.Lookup(a.v.String("PARLEY_ACCOUNT"))
		if err != nil {
			// Opening a session will say what to do; everything else works.
			a.log.Warn("there is no system user for browsers", "err", err)
		} else {
			// The data folder is closed to the account, so that its profiles lie in its own home.
			key := sha256.Sum256([]byte(data))
			o.Account, profiles = account, filepath.Join(account.Home, "profiles-"+hex.EncodeToString(key[:6]))
		}
	}
	a.lender = newLender(a.uploads, o.Account, a.log)
	a.browsers = browser.NewManager(browser.Options{
		Engines: engines, MaxSessions: a.v.Int("PARLEY_MAX_SESSIONS"), Idle: a.v.Seconds("PARLEY_IDLE_TIMEOUT_SEC"), Chromium: o,
		Headless: a.v.Bool("PARLEY_HEADLESS"), Profiles: profiles, Log: a.log,
		Proxy: func(t string) (string, error) { return a.guard.ways.Proxy(t) },
	})
	return nil
}

// engines are those that sessions may ask for, the default first.
func engines(v *settings.Values) ([]browser.Engine, error) {
	names := []string{v.String("PARLEY_ENGINE")}
	for _, name := range v.List("PARLEY_FEATURES_ENGINES") {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return browser.PickEngines(browser.Engines(), names)
}

// ownerGone closes the browser sessions of a client that went away.
func (a *app) ownerGone(t tenant.ID, owner string) {
	a.browsers.Gone(browser.Owner{Tenant: string(t), Client: owner})
}

// pages tells the policy about the page that a call acts on.
type pages struct{ m *browser.Manager }

// Page implements choke.Pages.
func (p pages) Page(t tenant.ID, session, _ string) (choke.Page, bool) {
	s, ok := p.m.Peek(string(t), session)
	if !ok {
		return choke.Page{}, false
	}
	host := ""
	if u, err := url.Parse(s.URL); err == nil {
		host = u.Hostname()
	}
	return choke.Page{Host: host, Document: s.Document, URL: s.URL, Tab: s.Tab}, true
}
