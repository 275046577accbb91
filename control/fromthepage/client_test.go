package fromthepage

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/connection"
	"parley/control/endpoint"
	"parley/control/tabs/fake"
	"parley/guard/audit"
	"parley/store"
	"parley/tenant"
)

// TestItSharesNothing: what it knows it has from the page.
func TestItSharesNothing(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "client.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		if strings.HasPrefix(i.Path.Value, `"parley/`) {
			t.Errorf("it imports %s", i.Path.Value)
		}
	}
}

// TestAClientWrittenFromThePageAlone speaks to the real endpoint, with the key in either place.
func TestAClientWrittenFromThePageAlone(t *testing.T) {
	for _, keyring := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		browser := new(fake.Browser)
		browser.Open("https://a.example/", "A page")
		e, err := endpoint.Start(t.Context(), endpoint.Options{Data: dir, Keyring: keyring, Tenant: tenant.Tenant{ID: "me"}, Desk: &action.Desk{Tenant: "me", Browser: browser, Store: s, Now: time.Now},
			Audit: func(audit.Record) error { return nil }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(filepath.Join(dir, connection.Name))
		if err != nil {
			t.Fatal(err)
		}
		result, failed, err := c.Do(t.Context(), "sessions", json.RawMessage(`{}`))
		if err != nil || failed != "" || !strings.Contains(string(result), `"title":"A page"`) {
			t.Errorf("%s, %q, %v", result, failed, err)
		}
		if _, failed, err := c.Do(t.Context(), "bookmarks:list", json.RawMessage(`{}`)); err != nil || failed != "denied" {
			t.Errorf("%q, %v", failed, err)
		}
		if _, failed, err := c.Do(t.Context(), "cookies", json.RawMessage(`{}`)); err != nil || failed != "invalid-request" {
			t.Errorf("%q, %v", failed, err)
		}
		other := *c
		other.capability = make([]byte, 48)
		if _, _, err := other.Do(t.Context(), "sessions", json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "pair anew") {
			t.Errorf("without the capability: %v", err)
		}
		pinned := *c
		pinned.ed = append([]byte(nil), c.ed...)
		pinned.ed[0] ^= 1
		if _, _, err := pinned.Do(t.Context(), "sessions", json.RawMessage(`{}`)); err == nil {
			t.Error("another pin, and it believes")
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
