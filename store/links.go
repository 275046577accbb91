package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/tenant"
)

// Links remembers one-time links, so that a restart does not end them.
type Links struct{ s *Store }

// Link is a one-time link. Its secret is kept as a hash only.
type Link struct {
	Secret  tenant.Hash
	Kind    string // recording, download, upload, secret
	Tenant  tenant.ID
	Target  string // what it leads to: a meeting's or a file's id
	Name    string // the file name to offer
	Created time.Time
	Expires time.Time
	Used    time.Time
}

// Add records a link.
func (l Links) Add(ctx context.Context, n Link) error {
	_, err := l.s.exec(ctx, "recording a link", `insert into links (secret, kind, tenant, target, name, created_ms, expires_ms)
		values (?,?,?,?,?,?,?)`, n.Secret.String(), n.Kind, n.Tenant, n.Target, n.Name, millis(n.Created), millis(n.Expires))
	return err
}

// Find gives a link that can still be used, or ErrNotFound.
func (l Links) Find(ctx context.Context, secret tenant.Hash, kind, target string, now time.Time) (Link, error) {
	n := Link{Secret: secret, Kind: kind, Target: target}
	var created, expires int64
	err := l.s.db.QueryRowContext(ctx, `select tenant, name, created_ms, expires_ms from links
		where secret = ? and kind = ? and target = ? and used_ms = 0 and expires_ms > ?`,
		secret.String(), kind, target, millis(now)).Scan(&n.Tenant, &n.Name, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return Link{}, ErrNotFound
	}
	n.Created, n.Expires = moment(created), moment(expires)
	return n, explain(l.s.path, "reading a link", err)
}

// Use marks a link as used up. Of several that try at once one succeeds; the others get ErrNotFound.
func (l Links) Use(ctx context.Context, secret tenant.Hash, now time.Time) error {
	rows, err := l.s.exec(ctx, "using a link", "update links set used_ms = ? where secret = ? and used_ms = 0 and expires_ms > ?",
		millis(now), secret.String(), millis(now))
	if err == nil && rows == 0 {
		return ErrNotFound
	}
	return err
}

// Revoke ends every link to a target.
func (l Links) Revoke(ctx context.Context, t tenant.ID, kind, target string) error {
	_, err := l.s.exec(ctx, "revoking links", "delete from links where tenant = ? and kind = ? and target = ?", t, kind, target)
	return err
}

// Sweep removes links that have ended.
func (l Links) Sweep(ctx context.Context, now time.Time) (int64, error) {
	return l.s.exec(ctx, "sweeping links", "delete from links where expires_ms <= ? or used_ms > 0", millis(now))
}
