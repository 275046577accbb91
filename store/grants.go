package store

import (
	"context"
	"time"

	"parley/tenant"
)

// Grants remembers tokens that the service itself handed out, as hashes.
type Grants struct{ s *Store }

// Grant is a token that was handed out.
type Grant struct {
	Hash             tenant.Hash
	Tenant           tenant.ID
	Label            string // for the person who handed it out
	Created, Revoked time.Time
}

// Add records a token.
func (g Grants) Add(ctx context.Context, n Grant) error {
	_, err := g.s.exec(ctx, "recording a token", "insert into grants (hash, tenant, label, created_ms) values (?,?,?,?)",
		n.Hash.String(), n.Tenant, n.Label, millis(n.Created))
	return err
}

// Revoke ends a token at once; ErrNotFound when there is none to end.
func (g Grants) Revoke(ctx context.Context, h tenant.Hash, now time.Time) error {
	rows, err := g.s.exec(ctx, "revoking a token", "update grants set revoked_ms = ? where hash = ? and revoked_ms = 0", millis(now), h.String())
	if err == nil && rows == 0 {
		return ErrNotFound
	}
	return err
}

// List gives all tokens ever handed out, the newest first.
func (g Grants) List(ctx context.Context) ([]Grant, error) {
	rows, err := g.s.db.QueryContext(ctx, "select hash, tenant, label, created_ms, revoked_ms from grants order by created_ms desc, hash")
	if err != nil {
		return nil, explain(g.s.path, "reading tokens", err)
	}
	defer rows.Close()
	var out []Grant
	for rows.Next() {
		var n Grant
		var hash string
		var created, revoked int64
		if err := rows.Scan(&hash, &n.Tenant, &n.Label, &created, &revoked); err != nil {
			return nil, explain(g.s.path, "reading tokens", err)
		}
		if n.Hash, err = tenant.ParseHash(hash); err != nil {
			return nil, explain(g.s.path, "reading tokens", err)
		}
		n.Created, n.Revoked = moment(created), moment(revoked)
		out = append(out, n)
	}
	return out, explain(g.s.path, "reading tokens", rows.Err())
}
