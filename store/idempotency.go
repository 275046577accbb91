package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/tenant"
)

// KeyLife is how long the result of a call stays under its key.
const KeyLife = 24 * time.Hour

// Idempotency remembers which calls were made under which key, and what came of them.
type Idempotency struct{ s *Store }

// Key names an intent of a tenant.
type Key struct {
	Tenant tenant.ID
	Tool   string
	Key    string
}

// Claim is what stands under a key.
type Claim struct {
	// Mine is true when the caller is now the one who runs the call.
	Mine bool
	// Same is false when the key was used with other arguments.
	Same bool
	// Done is true when Result is there.
	Done   bool
	Result []byte
	// Owner runs it, at the latest until Lease. A lease that ran out without a result means that the owner
	// ended in between: nobody knows whether the call took effect.
	Owner string
	Lease time.Time
}

// Claim takes a key for owner, or tells what stands there. args is a hash of the arguments.
func (i Idempotency) Claim(ctx context.Context, k Key, args, owner string, now time.Time, lease time.Duration) (Claim, error) {
	var c Claim
	err := i.s.write(ctx, "claiming an idempotency key", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "delete from idempotency where tenant=? and tool=? and key=? and created_ms <= ?",
			k.Tenant, k.Tool, k.Key, millis(now.Add(-KeyLife))); err != nil {
			return err
		}
		var storedArgs string
		var until int64
		err := tx.QueryRowContext(ctx, "select args, owner, lease_ms, done, result from idempotency where tenant=? and tool=? and key=?",
			k.Tenant, k.Tool, k.Key).Scan(&storedArgs, &c.Owner, &until, &c.Done, &c.Result)
		if err == nil {
			c.Same, c.Lease = storedArgs == args, moment(until)
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		c = Claim{Mine: true, Same: true, Owner: owner, Lease: now.Add(lease)}
		_, err = tx.ExecContext(ctx, "insert into idempotency (tenant, tool, key, args, owner, lease_ms, created_ms) values (?,?,?,?,?,?,?)",
			k.Tenant, k.Tool, k.Key, args, owner, millis(c.Lease), millis(now))
		return err
	})
	return c, err
}

// Finish puts the result under the key. Meeting, where given, is whose erasure removes it.
func (i Idempotency) Finish(ctx context.Context, k Key, owner, meeting string, result []byte) error {
	_, err := i.s.exec(ctx, "keeping a result", "update idempotency set done=1, result=?, meeting=? where tenant=? and tool=? and key=? and owner=?",
		blob(result), meeting, k.Tenant, k.Tool, k.Key, owner)
	return err
}

// Release gives the key back: the call had no effect and may be made again.
func (i Idempotency) Release(ctx context.Context, k Key, owner string) error {
	_, err := i.s.exec(ctx, "releasing an idempotency key", "delete from idempotency where tenant=? and tool=? and key=? and owner=? and done=0",
		k.Tenant, k.Tool, k.Key, owner)
	return err
}

// ForgetMeeting empties the results that belong to a meeting; the keys stay taken.
func (i Idempotency) ForgetMeeting(ctx context.Context, t tenant.ID, meeting string) error {
	_, err := i.s.exec(ctx, "forgetting results", "update idempotency set result=x'' where tenant=? and meeting=?", t, meeting)
	return err
}

// Sweep removes keys older than KeyLife.
func (i Idempotency) Sweep(ctx context.Context, now time.Time) (int64, error) {
	return i.s.exec(ctx, "sweeping idempotency keys", "delete from idempotency where created_ms <= ?", millis(now.Add(-KeyLife)))
}
