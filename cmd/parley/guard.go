package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"parley/guard/audit"
	"parley/guard/choke"
	"parley/guard/egress"
	"parley/guard/mapping"
	"parley/guard/prefs"
	"parley/guard/seal"
	"parley/internal/proc"
	"parley/internal/settings"
	"parley/tenant"
)

// guard is what stands between callers and tools, with what it is made of.
type guard struct {
	prefs  *prefs.Prefs
	audit  *audit.Log
	vaults *seal.Vaults
	allow  map[tenant.ID]egress.Rules
	ways   *egress.Set
	choke  *choke.Guard
	person *person
}

// noCores switches core dumps off, for this process and what it starts: one would hold secrets, sealed or not, and what
// people said.
func noCores(log *slog.Logger) {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		log.Warn("core dumps cannot be switched off", "err", err)
	}
}

// auditFolder is where a data folder keeps the record of calls.
const auditFolder = "audit"

func openGuard(v *settings.Values, r *tenant.Registry, data string, pages choke.Pages, log *slog.Logger) (*guard, error) {
	p, err := openPrefs(v, r, data, log)
	if err != nil {
		return nil, err
	}
	allow, err := egress.ParseTenants(v.String("PARLEY_TENANT_ALLOW"))
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("PARLEY_TENANT_ALLOW: %w", err)}
	}
	tasks, cut, err := mapping.ParseTasks(v.String("PARLEY_MAPPING"))
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("PARLEY_MAPPING: %w", err)}
	}
	for _, c := range cut {
		log.Warn("PARLEY_MAPPING: a limit is cut", "what", c)
	}
	a, err := audit.Open(filepath.Join(data, auditFolder), audit.Options{})
	if err != nil {
		return nil, err
	}
	g := &guard{prefs: p, audit: a, vaults: &seal.Vaults{}, allow: allow, ways: waysOut(v, allow, log), person: newPerson(time.Now)}
	g.choke = choke.New(choke.Options{Policies: p, Audit: a, Allow: allow, Vaults: g.vaults, Pages: pages, Mapping: tasks, Person: g.person, Log: log})
	g.person.broker = g.choke.Broker()
	return g, nil
}

// openPrefs reads the policy that the settings and the file name.
func openPrefs(v *settings.Values, r *tenant.Registry, data string, log *slog.Logger) (*prefs.Prefs, error) {
	all, each, err := prefs.ParseTables(v.String("PARLEY_POLICY"))
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("PARLEY_POLICY: %w", err)}
	}
	admins := map[tenant.ID]bool{}
	if r != nil {
		for _, t := range r.Tenants() {
			if t.Can(tenant.AdminPolicy) {
				admins[t.ID] = true
			}
		}
	}
	p, err := prefs.Open(prefs.Options{Path: policyFile(v, data), Table: all, Tables: each, Unattended: v.String("PARLEY_UNATTENDED"), Admins: admins, Log: log})
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("the policy: %w", err)}
	}
	return p, nil
}

// waysOut are the proxies of tenants with a list of hosts. Only the browsers' own user may use them, and none of them
// reaches the service itself.
func waysOut(v *settings.Values, allow map[tenant.ID]egress.Rules, log *slog.Logger) *egress.Set {
	s := &egress.Set{Rules: allow, Log: log}
	uid := os.Geteuid()
	if uid == 0 {
		if account, err := proc.Lookup(v.String("PARLEY_ACCOUNT")); err == nil {
			uid = int(account.UID)
		}
	}
	s.UID = &uid
	if _, port, err := net.SplitHostPort(v.String("PARLEY_LISTEN")); err == nil {
		if n, err := strconv.Atoi(port); err == nil {
			s.Own = append(s.Own, n)
		}
	}
	return s
}

func policyFile(v *settings.Values, data string) string {
	if f := v.String("PARLEY_POLICY_FILE"); f != "" {
		return f
	}
	return filepath.Join(data, prefs.FileName)
}

// close says no to open questions, forgets what was sealed and closes the record, in this order.
func (g *guard) close() error {
	var errs []error
	if g.choke != nil {
		g.choke.Close()
	}
	if g.vaults != nil {
		g.vaults.Close()
	}
	if g.ways != nil {
		errs = append(errs, g.ways.Close())
	}
	if g.audit != nil {
		errs = append(errs, g.audit.Close())
	}
	return errors.Join(errs...)
}
