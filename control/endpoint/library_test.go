package endpoint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/connection"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/tabs"
	"parley/control/tabs/fake"
	"parley/control/wire"
)

// add adds a bookmark for a revision and policy.
func add(title, url string, revision, policy int) m {
	return m{"action": "add", "bookmark": m{"title": title, "url": url}, "expectedRevision": revision, "policyVersion": policy}
}

func TestBookmarks(t *testing.T) {
	r := newRig(t)
	r.publish(open(func(p *publish.Policy) {
		p.Bookmarks = []publish.Bookmark{{ID: "company", Title: "Intranet", URL: "https://intra.example/", Folder: "Work"}}
	}))
	r.no("", "bookmarks:mutate", add("One", "https://one.example/", 0, 1))
	r.no(wire.CodeConflict, "bookmarks:mutate", add("Two", "https://two.example/", 0, 1)) // a stale revision
	r.no(wire.CodeConflict, "bookmarks:mutate", add("Two", "https://two.example/", 1, 2)) // another policy
	r.no("", "bookmarks:mutate", add("Two", "https://two.example/", 1, 1))
	got1 := got[action.Bookmarks](r, "bookmarks:list", nil)
	if got1.Revision != 2 || got1.Policy != 1 || len(got1.Personal) != 2 || len(got1.Managed) != 1 || !got1.Permissions.Mutate {
		t.Fatalf("%+v", got1)
	}
	one, two := got1.Personal[0].ID, got1.Personal[1].ID
	at := func(action string, more m) m {
		out := m{"action": action, "expectedRevision": got[action2](r, "bookmarks:list", nil).Revision, "policyVersion": 1}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for what, args := range map[string]m{
		"the company's, removed": at("remove", m{"id": "company"}),
		"the company's, changed": at("update", m{"bookmark": m{"id": "company", "title": "x"}}),
		"the company's, moved":   at("organize", m{"bookmark": m{"ids": []string{one, "company"}, "folder": "x"}}),
		"none":                   at("remove", m{"id": "nothing"}),
	} {
		if reply := r.do("bookmarks:mutate", args); reply.Code != wire.CodeDenied {
			t.Errorf("%s: %q", what, reply.Code)
		}
	}
	for what, args := range map[string]m{
		"a word":          at("replace", m{"id": one}),
		"two targets":     at("remove", m{"id": one, "bookmark": m{}}),
		"no address":      at("add", m{"bookmark": m{"title": "x"}}),
		"a script":        at("add", m{"bookmark": m{"title": "x", "url": "javascript:alert(1)"}}),
		"credentials":     at("add", m{"bookmark": m{"title": "x", "url": "https://u:p@a.example/"}}),
		"an id of ours":   at("add", m{"bookmark": m{"title": "x", "url": "https://a.example/", "id": "x"}}),
		"unknown members": at("add", m{"bookmark": m{"title": "x", "url": "https://a.example/", "managed": true}}),
		"a long title":    at("add", m{"bookmark": m{"title": strings.Repeat("x", 1025), "url": "https://a.example/"}}),
		"half a revision": {"action": "remove", "id": one, "expectedRevision": 1.5, "policyVersion": 1},
	} {
		if reply := r.do("bookmarks:mutate", args); reply.Code != wire.CodeInvalid {
			t.Errorf("%s: %q", what, reply.Code)
		}
	}
	r.no("", "bookmarks:mutate", at("update", m{"bookmark": m{"id": one, "folder": "F"}}))
	r.no("", "bookmarks:mutate", at("organize", m{"bookmark": m{"ids": []string{one, two}, "folder": "G"}}))
	r.no("", "bookmarks:mutate", at("remove", m{"id": one}))
	got2 := got[action.Bookmarks](r, "bookmarks:list", nil)
	if got2.Revision != 5 || len(got2.Personal) != 1 || got2.Personal[0].Folder != "G" || got2.Personal[0].Title != "Two" {
		t.Errorf("%+v", got2)
	}
}

type action2 = action.Bookmarks

// TestBookmarksAreLookedThrough: what holds a secret, and what is on a host the grant does not have, is not told.
func TestBookmarksAreLookedThrough(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	for i, b := range []m{
		{"title": "fine", "url": "https://a.example/"}, {"title": "password: hunter2-horse", "url": "https://a.example/1"},
		{"title": "link", "url": "https://a.example/?password=hunter2-horse"}, {"title": "x", "url": "https://a.example/2", "folder": "token: ghp_" + strings.Repeat("a1B2", 9)},
		{"title": "elsewhere", "url": "https://b.example/"},
	} {
		r.no("", "bookmarks:mutate", m{"action": "add", "bookmark": b, "expectedRevision": i, "policyVersion": 1})
	}
	if l := got[action.Bookmarks](r, "bookmarks:list", nil); len(l.Personal) != 2 || l.Withheld != 3 {
		t.Errorf("%+v", l)
	}
	g := builder(1, func(g *grant.Grant) { g.Hosts = []string{"a.example"} })
	r.publish(granted(g))
	c := r.issue(g)
	reply := r.must(c, "", "bookmarks:list", nil)
	if s := string(reply.Result); strings.Contains(s, "b.example") || strings.Contains(s, "hunter2") || !strings.Contains(s, "fine") {
		t.Errorf("%s", s)
	}
}

// TestOneForeignBookmarkOfThreeChangesNone: all destinations are looked at before anything is done.
func TestOneForeignBookmarkOfThreeChangesNone(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	for i, host := range []string{"a.example", "b.example", "a.example"} {
		r.no("", "bookmarks:mutate", add(fmt.Sprint("t", i), "https://"+host+"/"+fmt.Sprint(i), i, 1))
	}
	all := got[action.Bookmarks](r, "bookmarks:list", nil)
	var ids []string
	for _, b := range all.Personal {
		ids = append(ids, b.ID)
	}
	g := builder(1, func(g *grant.Grant) { g.Hosts = []string{"a.example"} })
	r.publish(granted(g))
	r.must(r.issue(g), wire.CodeDenied, "bookmarks:mutate", m{"action": "organize", "bookmark": m{"ids": ids, "folder": "F"}, "expectedRevision": 3, "policyVersion": 2})
	list, rev, err := r.store.Bookmarks.List(t.Context(), "me")
	if err != nil || rev != 3 || slices.ContainsFunc(list, func(b storeBookmark) bool { return b.Folder != "" }) {
		t.Errorf("%v %d %v", list, rev, err)
	}
}

// TestBusyIsSaidBeforeAnythingBegins, and the client comes again by itself.
func TestBusyIsSaidBeforeAnythingBegins(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	release := r.desk.Manage()
	c := r.client(connection.Name)
	done := make(chan wire.Reply, 1)
	go func() {
		reply, err := r.try(c, "bookmarks:mutate", add("x", "https://a.example/", 0, 1))
		if err != nil {
			t.Error(err)
		}
		done <- reply
	}()
	// It is told busy, and tries again after 200, 400 and 600 ms.
	for len(r.tale("bookmarks:mutate")) < 2 {
		select {
		case <-t.Context().Done():
			t.Fatal("nothing was tried")
		case <-time.After(5 * time.Millisecond):
		}
	}
	release()
	if reply := <-done; !reply.OK() {
		t.Errorf("%+v", reply)
	}
	if _, rev, err := r.store.Bookmarks.List(t.Context(), "me"); err != nil || rev != 1 {
		t.Errorf("revision %d, %v", rev, err)
	}
	release = r.desk.Manage()
	defer release()
	if reply := r.do("bookmarks:mutate", add("x", "https://a.example/", 1, 1)); reply.Code != wire.CodeBusy {
		t.Errorf("%+v", reply)
	}
	if n := strings.Count(strings.Join(r.tale("bookmarks:mutate"), " "), "failed/denied"); n < 5 {
		t.Errorf("%d tries were answered with busy, want one and four: %v", n, r.tale("bookmarks:mutate"))
	}
}

// TestAPolicyChangeWithholdsTheResult, even where the change was made.
func TestAPolicyChangeWithholdsTheResult(t *testing.T) {
	once := false
	r := newRig(t)
	r.publish(open())
	r.hook(func(stage string) {
		if stage == "completed" && !once { // the change is committed, and its answer not sent
			once = true
			r.publish(open())
		}
	})
	r.no(wire.CodeConflict, "bookmarks:mutate", add("x", "https://a.example/", 0, 1))
	l := got[action.Bookmarks](r, "bookmarks:list", nil)
	if l.Revision != 1 || l.Policy != 2 || len(l.Personal) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestSettings(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	s := got[action.Settings](r, "settings:update", m{"appearance": m{"mode": "dark", "tabMode": "compact"}})
	if s.Appearance != (action.Appearance{Mode: "dark", Accent: "blue", TabMode: "compact"}) {
		t.Errorf("%+v", s)
	}
	for _, bad := range []m{{}, {"mode": "neon"}, {"accent": "red"}, {"tabMode": "none"}, {"font": "big"}, {"mode": 1}} {
		r.no(wire.CodeInvalid, "settings:update", m{"appearance": bad})
	}
	r.no(wire.CodeInvalid, "settings:update", m{"policy": m{}})
	r.publish(open(func(p *publish.Policy) {
		p.Settings = publish.Settings{Hidden: []string{"appearance.accent"}, Locked: []string{"appearance.mode"}}
	}))
	for _, managed := range []m{{"mode": "light"}, {"accent": "teal"}, {"mode": "light", "tabMode": "separate"}} {
		r.no(wire.CodeDenied, "settings:update", m{"appearance": managed})
	}
	s = got[action.Settings](r, "settings:update", m{"appearance": m{"tabMode": "separate"}})
	if s.Appearance != (action.Appearance{Mode: "dark", TabMode: "separate"}) || slices.Contains(s.Visible, "appearance.accent") || !slices.Contains(s.Locked, "appearance.mode") {
		t.Errorf("%+v", s)
	}
	r.publish(open(func(p *publish.Policy) { p.Settings = publish.Settings{Locked: []string{"appearance"}} }))
	r.no(wire.CodeDenied, "settings:update", m{"appearance": m{"tabMode": "compact"}})
}

// TestNoActionReachesManagement: there is none for policy, enrolment, credentials or keys, under any name.
func TestNoActionReachesManagement(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	for _, name := range []string{"policy:set", "publish", "issue", "revoke", "grants", "unlock", "vault:unlock", "vault:add", "vault:export", "settings:policy", "admin", "cookies", "evaluate", "cdp", "files", "enrol", ""} {
		reply, err := r.try(r.client(connection.Name), name, m{})
		if err != nil || reply.Code != wire.CodeInvalid {
			t.Errorf("%q: %+v, %v", name, reply, err)
		}
	}
}

func TestSetsOfTabs(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	a, b := r.browser.Open("https://a.example/", "A"), r.browser.Open("https://b.example/", "B")
	saved := got[action.Saved](r, "sessions:save", m{"name": "Work", "sessionIds": []string{a, b}})
	if saved.TabCount != 2 || saved.Revision != 1 || len(saved.ID) != 36 {
		t.Fatalf("%+v", saved)
	}
	r.no(wire.CodeInvalid, "sessions:save", m{"name": "Work", "sessionIds": []string{a}, "id": saved.ID}) // no revision
	r.no(wire.CodeConflict, "sessions:save", m{"name": "Work", "sessionIds": []string{a}, "id": saved.ID, "expectedRevision": 0})
	r.no(wire.CodeDenied, "sessions:save", m{"name": "Work", "sessionIds": []string{a}, "id": "mine", "expectedRevision": 0}) // ids are the endpoint's
	r.no(wire.CodeDenied, "sessions:save", m{"name": "Work", "sessionIds": []string{a, fake.UUID(99)}})
	list := got[action.Collections](r, "sessions:list", nil)
	if list.Revision != 1 || len(list.Collections) != 1 || len(list.Collections[0].Tabs) != 2 || list.Collections[0].Tabs[1].URL != "https://b.example/" {
		t.Errorf("%+v", list)
	}
	plan := got[action.Restored](r, "sessions:restore", m{"id": saved.ID})
	if plan.Plan == "" || plan.TabCount != 2 || plan.Sessions != nil {
		t.Fatalf("%+v", plan)
	}
	before := len(r.tabs())
	done := got[action.Restored](r, "sessions:restore", m{"planId": plan.Plan})
	if len(done.Sessions) != 2 || len(r.tabs()) != before+2 {
		t.Fatalf("%+v", done)
	}
	r.no(wire.CodeConflict, "sessions:restore", m{"planId": plan.Plan}) // once
	r.no(wire.CodeInvalid, "sessions:restore", m{"id": "x", "planId": "y"})
	// A plan of an older revision of the set, or of an older policy, is not carried out.
	plan = got[action.Restored](r, "sessions:restore", m{"id": saved.ID})
	got[action.Saved](r, "sessions:save", m{"name": "Work", "sessionIds": []string{a}, "id": saved.ID, "expectedRevision": 1})
	r.no(wire.CodeConflict, "sessions:restore", m{"planId": plan.Plan})
	plan = got[action.Restored](r, "sessions:restore", m{"id": saved.ID})
	r.publish(open())
	r.no(wire.CodeConflict, "sessions:restore", m{"planId": plan.Plan})
}

// TestSetsOfTabsAreLookedThrough, as a whole, before anything is kept, told or opened.
func TestSetsOfTabsAreLookedThrough(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	a, b, s := r.browser.Open("https://a.example/", "A"), r.browser.Open("https://b.example/", "B"), r.browser.Open("https://a.example/s", "password: hunter2-horse")
	r.no(wire.CodeDenied, "sessions:save", m{"name": "x", "sessionIds": []string{a, s}})
	r.no(wire.CodeDenied, "sessions:save", m{"name": "password: hunter2-horse", "sessionIds": []string{a}})
	r.browser.Open("about:blank", "")
	r.no(wire.CodeDenied, "sessions:save", m{"name": "x", "sessionIds": []string{a, fake.UUID(7)}})
	g, other := builder(1, func(g *grant.Grant) { g.Hosts = []string{"a.example", "b.example"} }), builder(1, named("other"))
	r.publish(granted(g, other))
	c, o := r.issue(g), r.issue(other)
	var saved action.Saved
	decode(t, r.must(c, "", "sessions:save", m{"name": "x", "sessionIds": []string{a, b}}), &saved)
	r.must(o, wire.CodeDenied, "sessions:restore", m{"id": saved.ID}) // another's
	var theirs action.Collections
	decode(t, r.must(o, "", "sessions:list", nil), &theirs)
	if len(theirs.Collections) != 0 {
		t.Errorf("another grant sees %+v", theirs)
	}
	var plan action.Restored
	decode(t, r.must(c, "", "sessions:restore", m{"id": saved.ID}), &plan)
	r.must(o, wire.CodeConflict, "sessions:restore", m{"planId": plan.Plan}) // nor does another carry the plan out, or use it up
	decode(t, r.must(c, "", "sessions:restore", m{"planId": plan.Plan}), &plan)
	// One of the hosts is taken away: the set is withheld, and nothing of it opens.
	narrow := builder(2, func(g *grant.Grant) { g.Hosts = []string{"a.example"} })
	r.publish(granted(narrow))
	c = r.issue(narrow)
	var list action.Collections
	decode(t, r.must(c, "", "sessions:list", nil), &list)
	if len(list.Collections) != 1 || !list.Collections[0].Withheld || list.Collections[0].Tabs != nil || list.Collections[0].Name != "" {
		t.Errorf("%+v", list)
	}
	before := len(r.tabs())
	r.must(c, wire.CodeDenied, "sessions:restore", m{"id": saved.ID})
	if len(r.tabs()) != before {
		t.Error("tabs were opened")
	}
}

// TestARestoreThatFailsLeavesNothing: what it had opened is closed again.
func TestARestoreThatFailsLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	a, b := r.browser.Open("https://a.example/", "A"), r.browser.Open("https://b.example/", "B")
	saved := got[action.Saved](r, "sessions:save", m{"name": "x", "sessionIds": []string{a, b}})
	plan := got[action.Restored](r, "sessions:restore", m{"id": saved.ID})
	r.browser.Fails = map[string]error{"https://b.example/": tabs.ErrBlocked}
	r.no(wire.CodeDenied, "sessions:restore", m{"planId": plan.Plan})
	if n := len(r.tabs()); n != 2 {
		t.Errorf("%d tabs", n)
	}
}
