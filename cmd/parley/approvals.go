package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"parley/control/trusted"
	"parley/guard/approve"
)

type approvalsOptions struct {
	json   bool
	tenant string
}

var approvalsCommand = &command{
	name:  "approvals",
	args:  "[standing | revoke NUMBER]",
	short: "answer the questions of a running service: may the agent do this?",
	long: `Shows each call that the policy wants a person to confirm, as it comes, and takes the answer: y for this one call, a for
always (this action on this host, until it is revoked or the service ends), anything else is no. As long as it runs,
the questions of the tenant come here and not to the agent's own client. A question that nobody answers within two
minutes is a no, and so are all when this command ends. It speaks to the services of this account on this data folder.
standing lists what was answered with always; revoke takes one back.`,
	example: "parley policy set form-submission confirm\nparley approvals\nparley approvals standing\nparley approvals revoke 1",
	flags: func(fs *flag.FlagSet) any {
		o := &approvalsOptions{}
		fs.BoolVar(&o.json, "json", false, "standing: print JSON")
		fs.StringVar(&o.tenant, "tenant", "", "whose questions; default PARLEY_TENANT, else the only tenant, else me")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*approvalsOptions)
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		_, t, err := (&policyOptions{tenant: o.tenant}).who(v)
		if err != nil {
			return err
		}
		c := &approver{data: dataDir(v), tenant: string(t.ID)}
		switch {
		case len(args) == 0:
			return c.watch(ctx, env)
		case args[0] == "standing" && len(args) == 1:
			all, err := c.standing(ctx)
			if err != nil {
				return err
			}
			return show(env.stdout, o.json, all, standingText(all))
		case args[0] == "revoke" && len(args) == 2:
			return c.revoke(ctx, env, args[1])
		}
		return fail(exitUsage, "want nothing, standing or revoke NUMBER")
	},
}

// approver speaks to the services of a data folder for one tenant.
type approver struct{ data, tenant string }

// question is one with the service that asks it.
type question struct {
	approve.Question
	service string
}

func (c *approver) ask(ctx context.Context, service, word string, o personOrder, result any) error {
	o.Tenant = c.tenant
	return trusted.Ask(ctx, service, word, o, result)
}

// errNoService says that nobody is there who could ask.
func (c *approver) errNoService() error {
	return fail(exitFailed, "no service runs on %s: start parley serve, or set PARLEY_DATA to the folder of the one that runs", c.data)
}

// look gives the questions that are not known yet. Those that ran out are known no more.
func (c *approver) look(ctx context.Context, known map[string]time.Time) ([]question, error) {
	var ids []string
	for id, until := range known {
		if time.Now().After(until) {
			delete(known, id)
			continue
		}
		ids = append(ids, id)
	}
	type found struct {
		open []question
		err  error
	}
	all := services(c.data)
	came := make(chan found, len(all))
	// The first service that has something ends the look at the others.
	ctx, cancel := context.WithCancel(ctx)
	var looks sync.WaitGroup
	defer looks.Wait()
	defer cancel()
	for _, s := range all {
		looks.Go(func() {
			var open []approve.Question
			f := found{err: c.ask(ctx, s, "look", personOrder{Known: ids}, &open)}
			for _, q := range open {
				f.open = append(f.open, question{q, s})
			}
			came <- f
		})
	}
	answered := false
	var last error
	for range all {
		f := <-came
		switch {
		case f.err == nil && len(f.open) > 0:
			return f.open, nil
		case f.err == nil:
			answered = true
		case !errors.Is(f.err, trusted.ErrNotRunning):
			last = f.err
		}
	}
	switch {
	case answered || ctx.Err() != nil:
		return nil, nil
	case last != nil:
		return nil, last
	}
	return nil, c.errNoService()
}

// watch puts questions before the person one by one until ctx ends or the input does.
func (c *approver) watch(ctx context.Context, env *environment) error {
	if _, err := c.standing(ctx); err != nil { // nobody could ask
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan typed, 16)
	go func() { // ends with the input, or with the process: a terminal's read cannot be interrupted
		defer close(lines)
		in := bufio.NewScanner(env.stdin)
		for in.Scan() {
			select {
			case lines <- typed{in.Text(), time.Now()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	asked := make(chan question, 16) // as many as a tenant may have open
	failed := make(chan error, 1)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() {
		defer close(asked)
		known := map[string]time.Time{}
		for ctx.Err() == nil {
			open, err := c.look(ctx, known)
			if err != nil {
				failed <- err
				return
			}
			for _, q := range open {
				known[q.ID] = q.Until
				select {
				case asked <- q:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	fmt.Fprintf(env.stderr, "waiting for questions of tenant %s; end with Ctrl-C\n", c.tenant)
	for {
		select {
		case q, ok := <-asked:
			if !ok {
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			if err := c.put(ctx, env, q, lines); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if strings.TrimSpace(line.text) != "" {
				fmt.Fprintln(env.stderr, "nothing is asked right now")
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// typed is a line of the person, and when it came.
type typed struct {
	text string
	at   time.Time
}

// put asks one question and passes the answer on. What was typed before the question stood there does not answer it.
// io.EOF: there is nobody any more.
func (c *approver) put(ctx context.Context, env *environment, q question, lines <-chan typed) error {
	left := time.Until(q.Until)
	if left <= 0 {
		return nil
	}
	where, always := "", ""
	if q.Host != "" {
		where, always = " on "+q.Host, ", a(lways there)"
	}
	shown := time.Now()
	fmt.Fprintf(env.stdout, "May the agent use %s%s? %s. (%s)\n  y(es, this once)%s, else no: ", q.Action, where, q.Title, strings.Join(q.Rules, ", "), always)
	var line typed
	late := time.NewTimer(left)
	defer late.Stop()
	for line.at.Before(shown) {
		select {
		case l, ok := <-lines:
			if !ok {
				fmt.Fprintln(env.stdout)
				_ = c.answer(ctx, q, approve.No) // nobody is there: the question would run out as a no
				return io.EOF
			}
			line = l
		case <-late.C:
			fmt.Fprintln(env.stdout, "no (nobody answered in time)")
			return nil
		case <-ctx.Done():
			fmt.Fprintln(env.stdout)
			return nil
		}
	}
	choice := approve.No
	switch strings.ToLower(strings.TrimSpace(line.text)) {
	case "y", "yes":
		choice = approve.Once
	case "a", "always":
		choice = approve.Always
		if q.Host == "" {
			choice = approve.Once
			fmt.Fprintln(env.stdout, "  always needs a host, and this call has none: taken as yes, this once")
		}
	}
	if err := c.answer(ctx, q, choice); err != nil {
		fmt.Fprintf(env.stdout, "  not taken: %v\n", err)
		return nil
	}
	fmt.Fprintf(env.stdout, "  %s\n", map[approve.Choice]string{approve.Once: "allowed, this once", approve.Always: "allowed there from now on", approve.No: "refused"}[choice])
	return nil
}

func (c *approver) answer(ctx context.Context, q question, choice approve.Choice) error {
	return c.ask(ctx, q.service, "answer", personOrder{Question: q.ID, Choice: choice}, nil)
}

// standingRow is one always of one service.
type standingRow struct {
	Number int    `json:"number"`
	Action string `json:"action"`
	Host   string `json:"host"`
	Rules  string `json:"rules"`

	standing approve.Standing
	service  string
}

func (c *approver) standing(ctx context.Context) ([]standingRow, error) {
	out := []standingRow{}
	running := false
	for _, s := range services(c.data) {
		var all []approve.Standing
		if err := c.ask(ctx, s, "standing", personOrder{}, &all); errors.Is(err, trusted.ErrNotRunning) {
			continue
		} else if err != nil {
			return nil, err
		}
		running = true
		for _, a := range all {
			out = append(out, standingRow{len(out) + 1, a.Action, a.Host, a.Rules, a, s})
		}
	}
	if !running {
		return nil, c.errNoService()
	}
	return out, nil
}

func standingText(all []standingRow) string {
	if len(all) == 0 {
		return "nothing was answered with always\n"
	}
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%d  %s on %s  (%s)\n", a.Number, a.Action, a.Host, a.Rules)
	}
	return b.String()
}

func (c *approver) revoke(ctx context.Context, env *environment, number string) error {
	all, err := c.standing(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if fmt.Sprint(a.Number) != number {
			continue
		}
		var was bool
		if err := c.ask(ctx, a.service, "revoke", personOrder{Standing: a.standing}, &was); err != nil {
			return err
		}
		if !was {
			return fail(exitFailed, "it was revoked already")
		}
		fmt.Fprintf(env.stdout, "revoked: %s on %s\n", a.Action, a.Host)
		return nil
	}
	return fail(exitUsage, "there is no number %.20q: parley approvals standing lists them", number)
}
