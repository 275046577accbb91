package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/tenant"
)

// ErrStale says that a collection changed since the revision the caller knows; nothing was changed.
var ErrStale = errors.New("it was changed since: read it again")

// ErrTooMany says that a collection holds as much as it may; nothing was changed.
var ErrTooMany = errors.New("it holds as many as it may")

// Limits of what a tenant keeps.
const (
	MaxBookmarks   = 2000
	MaxTabSets     = 100 // of one owner
	MaxTabsInSet   = 128
	MaxCredentials = 500
)

// revision reads the revision of a collection and raises it, unless it is another than expected.
func raise(ctx context.Context, tx *sql.Tx, t tenant.ID, what string, expected int64) (int64, error) {
	have, err := revision(ctx, tx, t, what)
	if err != nil {
		return 0, err
	}
	if expected >= 0 && have != expected {
		return 0, ErrStale
	}
	_, err = tx.ExecContext(ctx, "insert into control_revisions (tenant, what, revision) values (?,?,?) on conflict (tenant, what) do update set revision = excluded.revision",
		t, what, have+1)
	return have + 1, err
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func revision(ctx context.Context, q querier, t tenant.ID, what string) (int64, error) {
	var have int64
	err := q.QueryRowContext(ctx, "select revision from control_revisions where tenant = ? and what = ?", t, what).Scan(&have)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return have, err
}

// snapshot runs f in a transaction of its own, so that a list and its revision belong together. It takes the write lock:
// the lists are short, and two readings are then never of two states.
func (s *Store) snapshot(ctx context.Context, op string, f func(*sql.Tx) error) error {
	return s.write(ctx, op, f)
}

// Bookmarks keeps the personal bookmarks of tenants. Every change names the revision it was made for.
type Bookmarks struct{ s *Store }

// Bookmark is one of them.
type Bookmark struct{ ID, Title, URL, Folder string }

// List gives a tenant's bookmarks, by folder and title, with their revision.
func (b Bookmarks) List(ctx context.Context, t tenant.ID) (list []Bookmark, rev int64, err error) {
	err = b.s.snapshot(ctx, "reading bookmarks", func(tx *sql.Tx) error {
		if rev, err = revision(ctx, tx, t, "bookmarks"); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "select id, title, url, folder from bookmarks where tenant = ? order by folder, title, id", t)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var m Bookmark
			if err := rows.Scan(&m.ID, &m.Title, &m.URL, &m.Folder); err != nil {
				return err
			}
			list = append(list, m)
		}
		return rows.Err()
	})
	return list, rev, err
}

// Put adds a bookmark, or changes the one of that id. ErrStale when expected is not the present revision, ErrTooMany when
// there is no room.
func (b Bookmarks) Put(ctx context.Context, t tenant.ID, m Bookmark, expected int64) (rev int64, err error) {
	return b.PutAll(ctx, t, []Bookmark{m}, expected)
}

// PutAll puts several, or none.
func (b Bookmarks) PutAll(ctx context.Context, t tenant.ID, all []Bookmark, expected int64) (rev int64, err error) {
	err = b.s.write(ctx, "keeping bookmarks", func(tx *sql.Tx) error {
		if rev, err = raise(ctx, tx, t, "bookmarks", expected); err != nil {
			return err
		}
		for _, m := range all {
			if _, err := tx.ExecContext(ctx, `insert into bookmarks (tenant, id, title, url, folder) values (?,?,?,?,?)
				on conflict (tenant, id) do update set title = excluded.title, url = excluded.url, folder = excluded.folder`, t, m.ID, m.Title, m.URL, m.Folder); err != nil {
				return err
			}
		}
		return atMost(ctx, tx, MaxBookmarks, "select count(*) from bookmarks where tenant = ?", t)
	})
	return rev, err
}

// Remove deletes a bookmark; ErrNotFound when there is none of that id, ErrStale as in Put.
func (b Bookmarks) Remove(ctx context.Context, t tenant.ID, id string, expected int64) (rev int64, err error) {
	err = b.s.write(ctx, "removing a bookmark", func(tx *sql.Tx) error {
		if rev, err = raise(ctx, tx, t, "bookmarks", expected); err != nil {
			return err
		}
		return one(tx.ExecContext(ctx, "delete from bookmarks where tenant = ? and id = ?", t, id))
	})
	return rev, err
}

func atMost(ctx context.Context, tx *sql.Tx, most int, query string, args ...any) error {
	var n int
	if err := tx.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return err
	}
	if n > most {
		return ErrTooMany
	}
	return nil
}

func one(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNotFound)
	}
	return nil
}

// TabSets keeps named sets of tabs. A set belongs to the grant that saved it.
type TabSets struct{ s *Store }

// TabSet is one of them. Revision counts its own changes, from 1.
type TabSet struct {
	ID, Name string
	Revision int64
	Tabs     []SavedTab
	Saved    time.Time
}

// SavedTab is where a tab was.
type SavedTab struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Group string `json:"group,omitempty"`
}

// Save keeps a set. One that is there already is replaced when expected is its revision, and ErrStale otherwise; a new one
// takes expected 0.
func (x TabSets) Save(ctx context.Context, t tenant.ID, owner string, set TabSet, expected int64) (rev int64, err error) {
	if len(set.Tabs) > MaxTabsInSet {
		return 0, ErrTooMany
	}
	tabs, err := json.Marshal(set.Tabs)
	if err != nil {
		return 0, fmt.Errorf("keeping a set of tabs: %w", err)
	}
	err = x.s.write(ctx, "keeping a set of tabs", func(tx *sql.Tx) error {
		var have int64
		err := tx.QueryRowContext(ctx, "select revision from tabsets where tenant = ? and owner = ? and id = ?", t, owner, set.ID).Scan(&have)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if have != expected {
			return ErrStale
		}
		rev = have + 1
		if _, err := tx.ExecContext(ctx, `insert into tabsets (tenant, owner, id, name, revision, tabs, saved_ms) values (?,?,?,?,?,?,?)
			on conflict (tenant, owner, id) do update set name = excluded.name, revision = excluded.revision, tabs = excluded.tabs, saved_ms = excluded.saved_ms`,
			t, owner, set.ID, set.Name, rev, string(tabs), millis(set.Saved)); err != nil {
			return err
		}
		if _, err := raise(ctx, tx, t, "tabsets/"+owner, -1); err != nil {
			return err
		}
		return atMost(ctx, tx, MaxTabSets, "select count(*) from tabsets where tenant = ? and owner = ?", t, owner)
	})
	return rev, err
}

// List gives an owner's sets, by name, and the revision of the list.
func (x TabSets) List(ctx context.Context, t tenant.ID, owner string) (list []TabSet, rev int64, err error) {
	err = x.s.snapshot(ctx, "reading sets of tabs", func(tx *sql.Tx) error {
		if rev, err = revision(ctx, tx, t, "tabsets/"+owner); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "select id, name, revision, tabs, saved_ms from tabsets where tenant = ? and owner = ? order by name, id", t, owner)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			set, err := scanSet(rows.Scan)
			if err != nil {
				return err
			}
			list = append(list, set)
		}
		return rows.Err()
	})
	return list, rev, err
}

// Get finds a set, or ErrNotFound: also for another's.
func (x TabSets) Get(ctx context.Context, t tenant.ID, owner, id string) (TabSet, error) {
	set, err := scanSet(x.s.db.QueryRowContext(ctx, "select id, name, revision, tabs, saved_ms from tabsets where tenant = ? and owner = ? and id = ?", t, owner, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return TabSet{}, ErrNotFound
	}
	return set, explain(x.s.path, "reading a set of tabs", err)
}

func scanSet(scan func(...any) error) (TabSet, error) {
	var set TabSet
	var tabs string
	var saved int64
	if err := scan(&set.ID, &set.Name, &set.Revision, &tabs, &saved); err != nil {
		return TabSet{}, err
	}
	set.Saved = moment(saved)
	return set, json.Unmarshal([]byte(tabs), &set.Tabs)
}

// ControlSettings keeps the few settings an agent may see and change.
type ControlSettings struct{ s *Store }

// All gives what was set.
func (c ControlSettings) All(ctx context.Context, t tenant.ID) (map[string]string, error) {
	rows, err := c.s.db.QueryContext(ctx, "select name, value from control_settings where tenant = ?", t)
	if err != nil {
		return nil, explain(c.s.path, "reading settings", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, explain(c.s.path, "reading settings", err)
		}
		out[name] = value
	}
	return out, explain(c.s.path, "reading settings", rows.Err())
}

// Set changes all of the given ones, or none.
func (c ControlSettings) Set(ctx context.Context, t tenant.ID, values map[string]string) error {
	return c.s.write(ctx, "keeping settings", func(tx *sql.Tx) error {
		for name, value := range values {
			if _, err := tx.ExecContext(ctx, "insert into control_settings (tenant, name, value) values (?,?,?) on conflict (tenant, name) do update set value = excluded.value",
				t, name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Credentials keeps logins, sealed by whoever holds the vault's key; this package never sees them open.
type Credentials struct{ s *Store }

// Credential is one login of a form.
type Credential struct {
	ID        string
	Origin    string // https://host[:port]
	Action    string // exact address the form is sent to
	UserField string
	PassField string
	Sealed    []byte
}

// Key gives the vault's wrapped key, or ErrNotFound.
func (c Credentials) Key(ctx context.Context, t tenant.ID) ([]byte, error) {
	var wrapped []byte
	err := c.s.db.QueryRowContext(ctx, "select wrapped from vaults where tenant = ?", t).Scan(&wrapped)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	return wrapped, explain(c.s.path, "reading a vault", err)
}

// Init keeps the wrapped key of a new vault; ErrStale when there is one.
func (c Credentials) Init(ctx context.Context, t tenant.ID, wrapped []byte) error {
	rows, err := c.s.exec(ctx, "making a vault", "insert into vaults (tenant, wrapped) values (?,?) on conflict (tenant) do nothing", t, wrapped)
	if err == nil && rows == 0 {
		return ErrStale
	}
	return err
}

// Put keeps a credential, or replaces the one of that id.
func (c Credentials) Put(ctx context.Context, t tenant.ID, m Credential) error {
	return c.s.write(ctx, "keeping a credential", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `insert into credentials (tenant, id, origin, action, user_field, pass_field, sealed) values (?,?,?,?,?,?,?)
			on conflict (tenant, id) do update set origin = excluded.origin, action = excluded.action, user_field = excluded.user_field,
			pass_field = excluded.pass_field, sealed = excluded.sealed`, t, m.ID, m.Origin, m.Action, m.UserField, m.PassField, m.Sealed); err != nil {
			return err
		}
		return atMost(ctx, tx, MaxCredentials, "select count(*) from credentials where tenant = ?", t)
	})
}

// Remove deletes a credential, or gives ErrNotFound.
func (c Credentials) Remove(ctx context.Context, t tenant.ID, id string) error {
	return c.s.write(ctx, "removing a credential", func(tx *sql.Tx) error {
		return one(tx.ExecContext(ctx, "delete from credentials where tenant = ? and id = ?", t, id))
	})
}

// List gives a tenant's credentials, by origin.
func (c Credentials) List(ctx context.Context, t tenant.ID) ([]Credential, error) {
	rows, err := c.s.db.QueryContext(ctx, "select id, origin, action, user_field, pass_field, sealed from credentials where tenant = ? order by origin, id", t)
	if err != nil {
		return nil, explain(c.s.path, "reading credentials", err)
	}
	defer rows.Close()
	var out []Credential
	for rows.Next() {
		var m Credential
		if err := rows.Scan(&m.ID, &m.Origin, &m.Action, &m.UserField, &m.PassField, &m.Sealed); err != nil {
			return nil, explain(c.s.path, "reading credentials", err)
		}
		out = append(out, m)
	}
	return out, explain(c.s.path, "reading credentials", rows.Err())
}
