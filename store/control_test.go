package store

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/tenant"
)

func TestBookmarksAreComparedAndSet(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	rev, err := s.Bookmarks.Put(ctx, "me", Bookmark{"b1", "Title", "https://a.example/", ""}, 0)
	if err != nil || rev != 1 {
		t.Fatalf("%d, %v", rev, err)
	}
	if _, err := s.Bookmarks.Put(ctx, "me", Bookmark{"b2", "x", "https://b.example/", ""}, 0); !errors.Is(err, ErrStale) {
		t.Errorf("a stale revision: %v", err)
	}
	if rev, err = s.Bookmarks.Put(ctx, "me", Bookmark{"b1", "Other", "https://a.example/", "f"}, 1); err != nil || rev != 2 {
		t.Errorf("%d, %v", rev, err)
	}
	if _, err := s.Bookmarks.Remove(ctx, "me", "nothing", 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	list, rev, err := s.Bookmarks.List(ctx, "me")
	if err != nil || rev != 2 || len(list) != 1 || list[0] != (Bookmark{"b1", "Other", "https://a.example/", "f"}) {
		t.Errorf("%v %d %v", list, rev, err) // what failed raised no revision
	}
	if list, rev, err := s.Bookmarks.List(ctx, "you"); err != nil || rev != 0 || list != nil {
		t.Errorf("another tenant sees %v %d %v", list, rev, err)
	}
	if rev, err := s.Bookmarks.Remove(ctx, "me", "b1", 2); err != nil || rev != 3 {
		t.Errorf("%d, %v", rev, err)
	}
}

// TestOfManyChangesForOneRevisionOneWins, whoever they come from.
func TestOfManyChangesForOneRevisionOneWins(t *testing.T) {
	s := open(t, t.TempDir())
	var won, stale int
	var mu sync.Mutex
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			_, err := s.Bookmarks.Put(t.Context(), "me", Bookmark{fmt.Sprint("b", i), "t", "https://a.example/", ""}, 0)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, ErrStale):
				stale++
			default:
				t.Error(err)
			}
		})
	}
	g.Wait()
	if won != 1 || stale != 7 {
		t.Errorf("%d won, %d were stale", won, stale)
	}
}

func TestSetsOfTabsBelongToWhoSavedThem(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	at := time.UnixMilli(1_800_000_000_000)
	set := TabSet{ID: "s1", Name: "Work", Tabs: []SavedTab{{"https://a.example/", "A", "g"}}, Saved: at}
	if rev, err := s.TabSets.Save(ctx, "me", "agent", set, 0); err != nil || rev != 1 {
		t.Fatalf("%d, %v", rev, err)
	}
	if _, err := s.TabSets.Save(ctx, "me", "agent", set, 0); !errors.Is(err, ErrStale) {
		t.Errorf("%v", err)
	}
	if rev, err := s.TabSets.Save(ctx, "me", "agent", set, 1); err != nil || rev != 2 {
		t.Errorf("%d, %v", rev, err)
	}
	for _, other := range []struct{ t, owner string }{{"me", "other"}, {"you", "agent"}} {
		if _, err := s.TabSets.Get(ctx, tenant.ID(other.t), other.owner, "s1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v sees it: %v", other, err)
		}
	}
	got, err := s.TabSets.Get(ctx, "me", "agent", "s1")
	if err != nil || got.Name != "Work" || got.Revision != 2 || len(got.Tabs) != 1 || got.Tabs[0].Group != "g" || !got.Saved.Equal(at) {
		t.Errorf("%+v, %v", got, err)
	}
	if list, rev, err := s.TabSets.List(ctx, "me", "agent"); err != nil || rev != 2 || len(list) != 1 {
		t.Errorf("%v %d %v", list, rev, err)
	}
	if _, err := s.TabSets.Save(ctx, "me", "agent", TabSet{ID: "big", Tabs: make([]SavedTab, MaxTabsInSet+1)}, 0); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
	for i := range MaxTabSets {
		_, err := s.TabSets.Save(ctx, "me", "agent", TabSet{ID: fmt.Sprint(i), Name: "n"}, 0)
		if i < MaxTabSets-1 && err != nil || i == MaxTabSets-1 && !errors.Is(err, ErrTooMany) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

func TestCredentialsAndSettings(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	if _, err := s.Credentials.Key(ctx, "me"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := s.Credentials.Init(ctx, "me", []byte("w")); err != nil {
		t.Fatal(err)
	}
	if err := s.Credentials.Init(ctx, "me", []byte("other")); !errors.Is(err, ErrStale) {
		t.Errorf("a second key: %v", err)
	}
	c := Credential{"c1", "https://a.example", "https://a.example/login", "user", "pass", []byte{1}}
	if err := s.Credentials.Put(ctx, "me", c); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Credentials.List(ctx, "me"); err != nil || len(list) != 1 || list[0].Action != c.Action {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Credentials.Remove(ctx, "you", "c1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant removed it: %v", err)
	}
	if err := s.ControlSettings.Set(ctx, "me", map[string]string{"mode": "dark"}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.ControlSettings.All(ctx, "me"); err != nil || all["mode"] != "dark" || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
