package grant

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"parley/control/wire"
)

var t0 = time.UnixMilli(1_800_000_000_000).UTC()

func published(id string, generation uint64) Grant {
	return Grant{ID: id, Name: id, Enabled: true, Scopes: []Scope{"read"}, Expires: t0.Add(time.Hour), Generation: generation}
}

func TestWhichGrantsLive(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*Grant)
		at     time.Duration
		gen    uint64
		want   bool
	}{
		{"as published", func(*Grant) {}, 0, 3, true},
		{"older generation", func(*Grant) {}, 0, 2, false},
		{"newer generation", func(*Grant) {}, 0, 4, false},
		{"last moment", func(*Grant) {}, time.Hour - 1, 3, true},
		{"expiry", func(*Grant) {}, time.Hour, 3, false},
		{"disabled", func(g *Grant) { g.Enabled = false }, 0, 3, false},
	} {
		g := published("a", 3)
		c.change(&g)
		b, _, err := Book{}.Reconcile([]Grant{g}, nil, t0)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := b.Live(wire.Principal{ID: "a", Generation: c.gen}, t0.Add(c.at)); ok != c.want {
			t.Errorf("%s: %v", c.what, ok)
		}
	}
}

func TestReconcileKillsWhatIsGoneAndSparesThePeers(t *testing.T) {
	b, dead, err := Book{}.Reconcile([]Grant{published("a", 1), published("b", 1), published("c", 1), published("d", 1)}, nil, t0)
	if err != nil || len(dead) != 0 {
		t.Fatal(dead, err)
	}
	off := published("d", 1)
	off.Enabled = false
	next, dead, err := b.Reconcile([]Grant{published("a", 1), published("b", 2), off}, nil, t0)
	want := []wire.Principal{{ID: "b", Generation: 1}, {ID: "c", Generation: 1}, {ID: "d", Generation: 1}}
	if err != nil || !reflect.DeepEqual(dead, want) {
		t.Errorf("dead %v, %v", dead, err)
	}
	if _, ok := next.Live(wire.Principal{ID: "a", Generation: 1}, t0); !ok {
		t.Error("the unchanged peer died")
	}
	// The book is a value: the old one still says what it said.
	if _, ok := b.Live(wire.Principal{ID: "c", Generation: 1}, t0); !ok {
		t.Error("reconciling changed the old book")
	}
}

func TestAnOlderGenerationNeverComesBack(t *testing.T) {
	b, _, err := Book{}.Reconcile([]Grant{published("a", 5)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	// Across a restart: only what is stored survives.
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var again Book
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	if _, ok := again.Live(wire.Principal{ID: "a", Generation: 5}, t0); !ok {
		t.Error("the stored grant is dead")
	}
	old, _, err := again.Reconcile([]Grant{published("a", 4)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := old.Live(wire.Principal{ID: "a", Generation: 4}, t0); ok {
		t.Error("generation 4 lives after 5 was seen")
	}
	gone, _, err := old.Reconcile(nil, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := gone.Reconcile([]Grant{published("a", 4)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := back.Live(wire.Principal{ID: "a", Generation: 4}, t0); ok {
		t.Error("generation 4 lives after the id was gone for a while")
	}
	revoked, _, err := again.Revoke("a").Reconcile([]Grant{published("a", 5)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := revoked.Live(wire.Principal{ID: "a", Generation: 5}, t0); ok {
		t.Error("a revoked grant lives when it is published again")
	}
	renewed, _, err := revoked.Reconcile([]Grant{published("a", 6)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := renewed.Live(wire.Principal{ID: "a", Generation: 6}, t0); !ok {
		t.Error("the next generation does not live")
	}
}

func TestBadPublicationsChangeNothing(t *testing.T) {
	b, _, err := Book{}.Reconcile([]Grant{published("a", 1)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Grant){
		"no id": func(g *Grant) { g.ID = "" }, "capital id": func(g *Grant) { g.ID = "A" }, "generation 0": func(g *Grant) { g.Generation = 0 },
		"no expiry": func(g *Grant) { g.Expires = time.Time{} }, "unknown scope": func(g *Grant) { g.Scopes = []Scope{"cdp"} },
		"id twice": func(g *Grant) { g.ID = "a" },
	} {
		bad := published("b", 1)
		change(&bad)
		next, dead, err := b.Reconcile([]Grant{published("a", 2), bad}, nil, t0)
		if !errors.Is(err, ErrGrant) || dead != nil || !reflect.DeepEqual(next, b) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestIssueNeedsTheVeryGrant(t *testing.T) {
	b, _, err := Book{}.Reconcile([]Grant{published("a", 2)}, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	end := t0.Add(time.Hour)
	for _, c := range []struct {
		p       wire.Principal
		expires time.Time
		want    error
	}{
		{wire.Principal{ID: "a", Generation: 2}, end, nil},
		{wire.Principal{ID: "a", Generation: 1}, end, ErrIssue},
		{wire.Principal{ID: "a", Generation: 3}, end, ErrIssue},
		{wire.Principal{ID: "b", Generation: 2}, end, ErrIssue},
		{wire.Principal{ID: "a", Generation: 2}, end.Add(1), ErrIssue},
	} {
		if err := b.Issue(c.p, c.expires, t0); err != c.want {
			t.Errorf("%v until %v: %v", c.p, c.expires, err)
		}
	}
	if got := b.Next(t0); !got.Equal(end) {
		t.Errorf("next expiry %v", got)
	}
	if got := b.Next(end); !got.IsZero() {
		t.Errorf("next expiry after the end %v", got)
	}
}

// TestAuthorityNeverExceedsAnyParty draws parties at random: what all permit, each permits.
func TestAuthorityNeverExceedsAnyParty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hosts := []string{"a.example", "b.example", "*.example", "x.a.example"}
	probe := []string{"a.example", "b.example", "c.example", "x.a.example", "example", "other"}
	permitted := 0
	for range 2000 {
		var all []Authority
		for range 1 + r.IntN(4) {
			p := Policy{Enabled: r.IntN(8) > 0}
			for _, a := range Actions() {
				if r.IntN(3) > 0 {
					p.Scopes = append(p.Scopes, a.Scope)
				}
			}
			for _, h := range hosts {
				if r.IntN(3) == 0 {
					p.Hosts = append(p.Hosts, h)
				}
			}
			all = append(all, p.Authority())
		}
		sum := Intersect(all...)
		for _, a := range Actions() {
			each := !slices.ContainsFunc(all, func(one Authority) bool { return !one.Permits(a) })
			if sum.Permits(a) != each {
				t.Fatalf("%s: together %v, each %v", a.Name, sum.Permits(a), each)
			}
			if each {
				permitted++
			}
		}
		for _, h := range probe {
			each := !slices.ContainsFunc(all, func(one Authority) bool { return !one.PermitsHost(h) })
			if sum.PermitsHost(h) != each {
				t.Fatalf("%s: together %v, each %v", h, sum.PermitsHost(h), each)
			}
		}
	}
	if permitted == 0 {
		t.Fatal("nothing was ever permitted")
	}
}

func TestNothingIsPermittedByDefault(t *testing.T) {
	for what, a := range map[string]Authority{
		"no party":      Intersect(),
		"disabled":      Policy{Scopes: []Scope{"read"}}.Authority(),
		"empty scopes":  Policy{Enabled: true}.Authority(),
		"empty grant":   Intersect(Policy{Enabled: true, Scopes: []Scope{"read"}}.Authority(), Grant{}.Authority()),
		"zero":          {},
		"other's scope": Intersect(Policy{Enabled: true, Scopes: []Scope{"read"}}.Authority(), Grant{Scopes: []Scope{"inspect"}}.Authority()),
	} {
		for _, act := range Actions() {
			if a.Permits(act) {
				t.Errorf("%s permits %s", what, act.Name)
			}
		}
	}
}

func TestADecisionSaysExactlyWhatIsNeeded(t *testing.T) {
	read, _ := Lookup("read")
	for _, c := range []struct {
		what string
		d    Decision
		want bool
	}{
		{"exact", Decision{true, RoleAgent, []Internal{"browser:read"}}, true},
		{"admin", Decision{true, RoleAdmin, []Internal{"browser:read"}}, true},
		{"not allowed", Decision{false, RoleAgent, []Internal{"browser:read"}}, false},
		{"no role", Decision{true, "", []Internal{"browser:read"}}, false},
		{"another role", Decision{true, "root", []Internal{"browser:read"}}, false},
		{"no scope", Decision{true, RoleAgent, nil}, false},
		{"another scope", Decision{true, RoleAgent, []Internal{"browser:interact"}}, false},
		{"one too many", Decision{true, RoleAgent, []Internal{"browser:read", "browser:interact"}}, false},
		{"twice", Decision{true, RoleAgent, []Internal{"browser:read", "browser:read"}}, false},
	} {
		if got := c.d.Honour(read); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
