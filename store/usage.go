package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/tenant"
)

// Usage counts what a tenant used per day (UTC), such as minutes of a paid engine.
type Usage struct{ s *Store }

// Add counts an amount and gives the day's sum with it.
func (u Usage) Add(ctx context.Context, t tenant.ID, what string, now time.Time, amount float64) (sum float64, err error) {
	err = u.s.write(ctx, "counting usage", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `insert into usage (tenant, day, what, amount) values (?,?,?,?)
			on conflict do update set amount = amount + excluded.amount returning amount`,
			t, day(now), what, amount).Scan(&sum)
	})
	return sum, err
}

// Today is the day's sum.
func (u Usage) Today(ctx context.Context, t tenant.ID, what string, now time.Time) (sum float64, err error) {
	err = u.s.db.QueryRowContext(ctx, "select amount from usage where tenant=? and day=? and what=?", t, day(now), what).Scan(&sum)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return sum, explain(u.s.path, "reading usage", err)
}

// Forget removes days before a time.
func (u Usage) Forget(ctx context.Context, before time.Time) (int64, error) {
	return u.s.exec(ctx, "forgetting usage", "delete from usage where day < ?", day(before))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
