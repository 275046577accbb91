package action

import (
	"context"

	"parley/control/tabs"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
	"parley/tool"
)

// Bookmark is one in a list.
type Bookmark struct {
	ID     string `json:"id"`
	Title  string `json:"title" arg:"untrusted"`
	URL    string `json:"url" arg:"untrusted"`
	Folder string `json:"folder,omitempty" arg:"untrusted"`
}

// Bookmarks is what bookmarks:list gives.
type Bookmarks struct {
	Managed     []Bookmark  `json:"managed" doc:"The company's; they are not changed."`
	Personal    []Bookmark  `json:"personal"`
	Withheld    int         `json:"withheld,omitempty" doc:"How many were left out, since they hold what must not leave."`
	Revision    int64       `json:"revision"`
	Policy      int64       `json:"policyVersion"`
	Permissions Permissions `json:"permissions"`
}

// Permissions say what this caller may do with personal bookmarks.
type Permissions struct {
	Mutate bool `json:"mutate"`
}

// MutateArgs are those of bookmarks:mutate.
type MutateArgs struct {
	Action   string  `json:"action" arg:"required,enum=add|update|remove|organize"`
	Bookmark *Fields `json:"bookmark,omitempty"`
	ID       string  `json:"id,omitempty" arg:"maxlen=1024"`
	Expected int64   `json:"expectedRevision" arg:"required"`
	Policy   int64   `json:"policyVersion" arg:"required"`
}

// Fields of a bookmark: add takes title, url and perhaps folder; update an id and what changes; organize ids and a folder.
type Fields struct {
	ID     *string   `json:"id,omitempty" arg:"maxlen=1024"`
	IDs    *[]string `json:"ids,omitempty" arg:"min=1,max=128"`
	Title  *string   `json:"title,omitempty" arg:"maxlen=1024"`
	URL    *string   `json:"url,omitempty" arg:"maxlen=8192"`
	Folder *string   `json:"folder,omitempty" arg:"maxlen=1024"`
}

func (d *Desk) library() []tool.Tool {
	return []tool.Tool{
		define("bookmarks:list", "Lists the company's and the personal bookmarks.", true, d.bookmarks),
		define("bookmarks:mutate", "Changes personal bookmarks, for the revision and policy that the caller has read.", false, d.mutate),
	}
}

func (d *Desk) bookmarks(ctx context.Context, c *Call, _ Empty) (Bookmarks, error) {
	list, rev, err := d.Store.Bookmarks.List(ctx, d.Tenant)
	if err != nil {
		return Bookmarks{}, err
	}
	mutate := false
	for _, s := range c.Authority.Scopes {
		mutate = mutate || s == "bookmarks:mutate"
	}
	out := Bookmarks{Managed: []Bookmark{}, Personal: []Bookmark{}, Revision: rev, Policy: int64(c.Policy.Version), Permissions: Permissions{mutate}}
	add := func(to *[]Bookmark, b Bookmark) {
		if !c.permits(tabs.HostOf(b.URL)) || !c.clean(b.Title, b.URL, b.Folder) {
			out.Withheld++
			return
		}
		*to = append(*to, b)
	}
	for _, b := range c.Policy.Bookmarks {
		add(&out.Managed, Bookmark(b))
	}
	for _, b := range list {
		add(&out.Personal, Bookmark(b))
	}
	return out, nil
}

func (d *Desk) mutate(ctx context.Context, c *Call, a MutateArgs) (Done, error) {
	if !d.managing.TryLock() {
		return Done{}, fail(wire.CodeBusy, "another change is under way")
	}
	defer d.managing.Unlock()
	if a.Policy < 0 || uint64(a.Policy) != c.Policy.Version || !c.Current() {
		return Done{}, fail(wire.CodeConflict, "the policy is another by now")
	}
	if a.Expected < 0 {
		return Done{}, fail(wire.CodeInvalid, "revisions count from 0")
	}
	var err error
	if a.Action == "remove" {
		if a.ID == "" {
			return Done{}, fail(wire.CodeInvalid, "remove takes an id")
		}
		err = d.remove(ctx, c, a)
	} else {
		err = d.put(ctx, c, a)
	}
	if err != nil {
		return Done{}, err
	}
	c.guard(c.Current)
	return Done{Completed: true}, nil
}

func (d *Desk) remove(ctx context.Context, c *Call, a MutateArgs) error {
	if c.Policy.Managed(a.ID) {
		return fail(wire.CodeDenied, "the company's bookmarks are not changed")
	}
	if _, err := d.mine(ctx, c, a, a.ID); err != nil {
		return err
	}
	_, err := d.Store.Bookmarks.Remove(ctx, d.Tenant, a.ID, a.Expected)
	return err
}

// mine finds personal bookmarks by id, all of which this caller must be permitted to work.
func (d *Desk) mine(ctx context.Context, c *Call, a MutateArgs, ids ...string) ([]store.Bookmark, error) {
	list, rev, err := d.Store.Bookmarks.List(ctx, d.Tenant)
	if err != nil {
		return nil, err
	}
	if rev != a.Expected {
		return nil, store.ErrStale
	}
	var out []store.Bookmark
	for _, id := range ids {
		if c.Policy.Managed(id) {
			return nil, fail(wire.CodeDenied, "the company's bookmarks are not changed")
		}
		found := false
		for _, b := range list {
			if b.ID == id {
				found = true
				if !c.permits(tabs.HostOf(b.URL)) {
					return nil, tabs.ErrDestination
				}
				out = append(out, b)
			}
		}
		if !found {
			return nil, store.ErrNotFound
		}
	}
	return out, nil
}

func (d *Desk) put(ctx context.Context, c *Call, a MutateArgs) error {
	if a.Bookmark == nil {
		return fail(wire.CodeInvalid, "the bookmark is missing")
	}
	f := *a.Bookmark
	var b store.Bookmark
	switch {
	case a.Action == "add" && f.ID == nil && f.IDs == nil && f.Title != nil && f.URL != nil:
		b.ID = vault.UUID()
	case a.Action == "update" && f.ID != nil && f.IDs == nil && (f.Title != nil || f.URL != nil || f.Folder != nil):
		was, err := d.mine(ctx, c, a, *f.ID)
		if err != nil {
			return err
		}
		b = was[0]
	case a.Action == "organize" && f.ID == nil && f.IDs != nil && f.Folder != nil && f.Title == nil && f.URL == nil && len(*f.IDs) > 0 && len(*f.IDs) <= 128:
		return d.organize(ctx, c, a, *f.IDs, *f.Folder)
	default:
		return fail(wire.CodeInvalid, "the bookmark is not what the action takes")
	}
	for _, m := range []struct {
		to   *string
		from *string
		most int
	}{{&b.Title, f.Title, 1024}, {&b.URL, f.URL, 8192}, {&b.Folder, f.Folder, 1024}} {
		if m.from != nil {
			if len(*m.from) > m.most {
				return fail(wire.CodeInvalid, "a bookmark's member is too long")
			}
			*m.to = *m.from
		}
	}
	if b.Title == "" || !webAddress(b.URL) {
		return fail(wire.CodeInvalid, "a bookmark needs a title and a web address without credentials")
	}
	if !c.permits(tabs.HostOf(b.URL)) {
		return tabs.ErrDestination
	}
	_, err := d.Store.Bookmarks.Put(ctx, d.Tenant, b, a.Expected)
	return err
}

// organize puts several into one folder: all of them, or none.
func (d *Desk) organize(ctx context.Context, c *Call, a MutateArgs, ids []string, folder string) error {
	if len(folder) > 1024 {
		return fail(wire.CodeInvalid, "the folder's name is too long")
	}
	all, err := d.mine(ctx, c, a, ids...)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Folder = folder
	}
	_, err = d.Store.Bookmarks.PutAll(ctx, d.Tenant, all, a.Expected)
	return err
}
