package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"parley/cmd/parley/internal/figures"
	"parley/control/action"
	"parley/control/connection"
	"parley/control/dial"
	"parley/control/endpoint"
	"parley/control/gate"
	"parley/control/keys"
	"parley/control/wire"
	"parley/guard/audit"
	"parley/store"
	"parley/tenant"
)

// control measures full round trips (challenge and action) over the network, with the audit log on disk.
func (b *bench) control(ctx context.Context) error {
	data := filepath.Join(b.dir, "control")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	s, err := store.Open(ctx, data)
	if err != nil {
		return err
	}
	defer s.Close()
	log, err := audit.Open(filepath.Join(data, auditFolder), audit.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	e, err := endpoint.Start(ctx, endpoint.Options{Data: data, Tenant: tenant.Tenant{ID: tenant.DefaultID}, Desk: &action.Desk{Tenant: tenant.DefaultID, Store: s, Now: time.Now},
		Audit: log.Write, Log: b.log, Limits: gate.Limits{PerMinute: 1 << 20, Seen: 1 << 20}})
	if err != nil {
		return err
	}
	defer func() {
		shut, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(shut); err != nil {
			b.say("the endpoint did not end well: %v", err)
		}
	}()
	if err := e.Publish([]byte(`{"version":1,"enabled":true,"identityMode":"legacy","scopes":["application:state","bookmarks:list"]}`)); err != nil {
		return err
	}
	address, end, err := connection.Read(keys.At(data), connection.Name)
	if err != nil {
		return err
	}
	c, err := dial.New(address, end)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, name := range []string{"application:state", "bookmarks:list"} {
		const warm, rounds = 20, 500
		var took []float64
		for i := range warm + rounds {
			begin := time.Now()
			reply, err := c.Do(ctx, wire.Request{Action: name})
			if err != nil || !reply.OK() {
				return fmt.Errorf("%s: %s: %w", name, reply.Code, err)
			}
			if i >= warm {
				took = append(took, float64(time.Since(begin).Microseconds())/1000)
			}
		}
		sorted := slices.Sorted(slices.Values(took))
		b.add(figures.AtMost(name+": challenge and action, round trip", "ms", 10, took...),
			figures.AtMost(name+": the same, 99th percentile", "ms", 25, figures.Quantile(sorted, 0.99)))
	}
	return nil
}
