package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"parley/guard/policy"
	"parley/internal/settings"
	"parley/tenant"
)

type policyOptions struct {
	json     bool
	tenant   string
	attended bool
	page     string
}

var policyCommand = &command{
	name:  "policy",
	args:  "print | explain TOOL [ARGUMENTS] | diff A [B] | set RULE EFFECT",
	short: "the rules that calls are decided by: show, explain, compare, change",
	long: `print shows every rule in force. explain says how a call would be decided and why: name the tool and, as JSON, its
arguments. diff compares two policies; each is standard, guarded, current, or a file that print --json wrote; B is
current when it is left out. set changes one rule (allow, confirm, deny, or default to clear the change) in the
policy's file; a running service takes it within two seconds. Locked rules cannot be changed.`,
	example: "parley policy explain navigate '{\"url\":\"javascript:alert(1)\"}'\nparley policy diff standard guarded\nparley policy set form-submission confirm",
	flags: func(fs *flag.FlagSet) any {
		o := &policyOptions{}
		fs.BoolVar(&o.json, "json", false, "print JSON")
		fs.StringVar(&o.tenant, "tenant", "", "whose policy; default PARLEY_TENANT, else the only tenant, else me")
		fs.BoolVar(&o.attended, "attended", false, "explain: somebody can be asked")
		fs.StringVar(&o.page, "page", "", "explain: the `host` of the page the call acts on")
		return o
	},
	run: func(_ context.Context, env *environment, opts any, args []string) error {
		o := opts.(*policyOptions)
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return fail(exitUsage, "say print, explain, diff or set")
		}
		switch verb, rest := args[0], args[1:]; {
		case verb == "print" && len(rest) == 0:
			p, err := o.current(v)
			if err != nil {
				return err
			}
			return show(env.stdout, o.json, p.Print(), p.Print().String())
		case verb == "explain" && (len(rest) == 1 || len(rest) == 2):
			return o.explain(env, v, rest)
		case verb == "diff" && (len(rest) == 1 || len(rest) == 2):
			return o.diff(env, v, rest)
		case verb == "set" && len(rest) == 2:
			return o.set(env, v, rest[0], rest[1])
		}
		return fail(exitUsage, "want print, explain TOOL [ARGUMENTS], diff A [B] or set RULE EFFECT")
	},
}

func (o *policyOptions) who(v *settings.Values) (*tenant.Registry, tenant.Tenant, error) {
	c, err := tenantConfig(v)
	if err != nil {
		return nil, tenant.Tenant{}, err
	}
	r, err := tenant.NewRegistry(c)
	if err != nil {
		return nil, tenant.Tenant{}, &exitError{exitUsage, err}
	}
	name := o.tenant
	if name == "" {
		name = v.String("PARLEY_TENANT")
	}
	t, err := r.Local(tenant.ID(name))
	if err != nil {
		return nil, tenant.Tenant{}, &exitError{exitUsage, err}
	}
	return r, t, nil
}

func (o *policyOptions) current(v *settings.Values) (*policy.Policy, error) {
	r, t, err := o.who(v)
	if err != nil {
		return nil, err
	}
	p, err := openPrefs(v, r, dataDir(v), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return p.Of(t.ID), nil
}

func (o *policyOptions) explain(env *environment, v *settings.Values, args []string) error {
	p, err := o.current(v)
	if err != nil {
		return err
	}
	_, t, err := o.who(v)
	if err != nil {
		return err
	}
	q := policy.Request{Action: args[0], Scope: policy.Anywhere, PageHost: o.page, CanMeet: t.Can(tenant.Meeting), CanHide: t.Can(tenant.AnnounceNone)}
	if len(args) == 2 {
		if q.Args, err = policy.ArgsOf(json.RawMessage(args[1])); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if o.attended {
		q.Caller = policy.Attended
	}
	if hosts := p.Standing(); len(hosts) > 0 {
		if q.Scope, err = policy.NewScope(policy.Start{Standing: hosts}); err != nil {
			return err
		}
	}
	e := p.Explain(&q)
	return show(env.stdout, o.json, e, e.String())
}

func (o *policyOptions) diff(env *environment, v *settings.Values, args []string) error {
	if len(args) == 1 {
		args = append(args, "current")
	}
	var two [2]*policy.Policy
	for i, name := range args {
		var err error
		switch name {
		case policy.Standard, policy.Guarded:
			two[i], _, err = policy.New(policy.Source{Table: name}, policy.Config{})
		case "current":
			two[i], err = o.current(v)
		default:
			var b []byte
			if b, err = os.ReadFile(name); err != nil {
				err = fmt.Errorf("%.80s is none of standard, guarded, current, and no file that can be read: %w", name, err)
			} else if two[i], err = policy.ParsePrinted(b); err != nil {
				err = fmt.Errorf("%.80s is none of standard, guarded, current, and not what parley policy print --json writes: %w", name, err)
			}
		}
		if err != nil {
			return &exitError{exitUsage, err}
		}
	}
	d := policy.Diff(two[0], two[1])
	text := ""
	for _, line := range d {
		text += line.String() + "\n"
	}
	if len(d) == 0 {
		text = "no difference\n"
	}
	return show(env.stdout, o.json, d, text)
}

func (o *policyOptions) set(env *environment, v *settings.Values, rule, effect string) error {
	r, t, err := o.who(v)
	if err != nil {
		return err
	}
	p, err := openPrefs(v, r, dataDir(v), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if effect == "default" {
		effect = ""
	}
	if err := os.MkdirAll(dataDir(v), 0o700); err != nil {
		return err
	}
	if err := p.Write(&policy.Writer{}, t.ID, policy.Change{Rule: rule, Value: effect}); err != nil {
		return fail(exitRefused, "%v", err)
	}
	for _, row := range p.Rows(t.ID) {
		if row.ID == rule {
			fmt.Fprintf(env.stdout, "%s: %s\n", rule, row.Effect)
		}
	}
	return nil
}

// show prints a value as JSON, or its text.
func show(w io.Writer, asJSON bool, value any, text string) error {
	if !asJSON {
		_, err := io.WriteString(w, text)
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
