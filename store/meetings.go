package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"parley/tenant"
)

// Meetings remembers every attendance: which there are, who runs them, how they ended.
type Meetings struct{ s *Store }

// Meeting is one attendance. Zero times are "not yet".
type Meeting struct {
	ID       string
	Tenant   tenant.ID
	Platform string
	// Link tells two joins of one meeting; LinkHash makes it of a normalised link.
	Link             string
	Instance         string // the process that runs it
	State, Reason    string
	Requested        time.Time
	Admitted, Ended  time.Time
	RecordingState   string // none, writing, ready, damaged, deleted
	RecordingSeconds float64
	RecordingBytes   int64
	// Data is the keeper's own, at most 64 KiB, never what people said.
	Data []byte
	// TenantMax is how many meetings the tenant may have at once, for Begin; zero: no ceiling. It is not kept.
	TenantMax int
}

// LinkHash stands for a meeting's link without giving it away.
func LinkHash(t tenant.ID, normalised string) string {
	h := sha256.Sum256([]byte(string(t) + "\x00" + normalised))
	return hex.EncodeToString(h[:16])
}

// FullError says that as many meetings run as may: of all tenants, or of this one.
type FullError struct {
	Running, Max int
	OfTenant     bool
}

// Error gives both numbers.
func (e *FullError) Error() string {
	if e.OfTenant {
		return fmt.Sprintf("%d meetings of the tenant are running, at most %d may", e.Running, e.Max)
	}
	return fmt.Sprintf("%d meetings are running, at most %d may", e.Running, e.Max)
}

// ErrBusyID says that a meeting with this id exists.
var ErrBusyID = errors.New("a meeting with this id exists")

// Begin records a new meeting, unless the tenant is in the same one already: then it gives that one and
// existing is true. Of two processes that begin the same meeting at once, one wins.
func (m Meetings) Begin(ctx context.Context, n Meeting, allowDuplicate bool, max int) (got Meeting, existing bool, err error) {
	if len(n.Data) > 64<<10 {
		return Meeting{}, false, fmt.Errorf("meeting %s: its data is larger than 64 KiB", n.ID)
	}
	n.State, n.RecordingState = cmp.Or(n.State, "requested"), cmp.Or(n.RecordingState, "none")
	err = m.s.write(ctx, "recording a meeting", func(tx *sql.Tx) error {
		if !allowDuplicate {
			found, err := scanMeeting(tx.QueryRowContext(ctx, selectMeeting+
				" where ended_ms = 0 and tenant = ? and link_hash = ? order by requested_ms limit 1", n.Tenant, n.Link))
			if err == nil {
				got, existing = found, true
				return nil
			}
			if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		var running int
		if err := tx.QueryRowContext(ctx, "select count(*) from meetings where ended_ms = 0").Scan(&running); err != nil {
			return err
		}
		if max > 0 && running >= max {
			return &FullError{Running: running, Max: max}
		}
		if n.TenantMax > 0 {
			if err := tx.QueryRowContext(ctx, "select count(*) from meetings where ended_ms = 0 and tenant = ?", n.Tenant).Scan(&running); err != nil {
				return err
			}
			if running >= n.TenantMax {
				return &FullError{Running: running, Max: n.TenantMax, OfTenant: true}
			}
		}
		r, err := tx.ExecContext(ctx, `insert into meetings (id, tenant, platform, link_hash, instance, state, reason,
			requested_ms, admitted_ms, ended_ms, recording_state, recording_seconds, recording_bytes, data)
			values (?,?,?,?,?,?,?,?,?,?,?,?,?,?) on conflict do nothing`,
			n.ID, n.Tenant, n.Platform, n.Link, n.Instance, n.State, n.Reason, millis(n.Requested), millis(n.Admitted),
			millis(n.Ended), n.RecordingState, n.RecordingSeconds, n.RecordingBytes, blob(n.Data))
		if err != nil {
			return err
		}
		if rows, err := r.RowsAffected(); err != nil || rows == 0 {
			return errors.Join(err, ErrBusyID)
		}
		got = n
		return nil
	})
	var full *FullError
	if errors.As(err, &full) {
		return Meeting{}, false, full
	}
	return got, existing, err
}

// Update changes what is not fixed at the beginning: instance, state, reason, times, recording, data.
func (m Meetings) Update(ctx context.Context, n Meeting) error {
	rows, err := m.s.exec(ctx, "updating a meeting", `update meetings set instance=?, state=?, reason=?, admitted_ms=?, ended_ms=?,
		recording_state=?, recording_seconds=?, recording_bytes=?, data=? where id=? and tenant=?`,
		n.Instance, n.State, n.Reason, millis(n.Admitted), millis(n.Ended), n.RecordingState, n.RecordingSeconds,
		n.RecordingBytes, blob(n.Data), n.ID, n.Tenant)
	if err == nil && rows == 0 {
		return ErrNotFound
	}
	return err
}

// Get finds a tenant's meeting.
func (m Meetings) Get(ctx context.Context, t tenant.ID, id string) (Meeting, error) {
	return scanMeeting(m.s.db.QueryRowContext(ctx, selectMeeting+" where id = ? and tenant = ?", id, t))
}

// List gives a tenant's meetings, the newest first.
func (m Meetings) List(ctx context.Context, t tenant.ID, limit int) ([]Meeting, error) {
	return m.query(ctx, " where tenant = ? order by requested_ms desc, id limit ?", t, limit)
}

// Running gives every tenant's meetings that have not ended, for the next start to look after.
func (m Meetings) Running(ctx context.Context) ([]Meeting, error) {
	return m.query(ctx, " where ended_ms = 0 order by requested_ms, id")
}

// Forget removes meetings that ended before a time.
func (m Meetings) Forget(ctx context.Context, before time.Time) (int64, error) {
	return m.s.exec(ctx, "forgetting meetings", "delete from meetings where ended_ms > 0 and ended_ms < ?", millis(before))
}

const selectMeeting = `select id, tenant, platform, link_hash, instance, state, reason, requested_ms, admitted_ms, ended_ms,
	recording_state, recording_seconds, recording_bytes, data from meetings`

func (m Meetings) query(ctx context.Context, where string, args ...any) ([]Meeting, error) {
	rows, err := m.s.db.QueryContext(ctx, selectMeeting+where, args...)
	if err != nil {
		return nil, explain(m.s.path, "reading meetings", err)
	}
	defer rows.Close()
	var out []Meeting
	for rows.Next() {
		one, err := scanMeeting(rows)
		if err != nil {
			return nil, explain(m.s.path, "reading meetings", err)
		}
		out = append(out, one)
	}
	return out, explain(m.s.path, "reading meetings", rows.Err())
}

func scanMeeting(row interface{ Scan(...any) error }) (Meeting, error) {
	var m Meeting
	var requested, admitted, ended int64
	err := row.Scan(&m.ID, &m.Tenant, &m.Platform, &m.Link, &m.Instance, &m.State, &m.Reason, &requested, &admitted, &ended,
		&m.RecordingState, &m.RecordingSeconds, &m.RecordingBytes, &m.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return Meeting{}, ErrNotFound
	}
	m.Requested, m.Admitted, m.Ended = moment(requested), moment(admitted), moment(ended)
	return m, err
}

func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
