package action

import (
	"context"
	"slices"

	"parley/control/publish"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
	"parley/tool"
)

// VaultState is what vault:status gives.
type VaultState struct {
	Exists   bool `json:"exists"`
	Locked   bool `json:"locked"`
	Enabled  bool `json:"enabled"`
	Autofill bool `json:"autofill"`
}

// Logins is what vault:list gives.
type Logins struct {
	Origins     []string `json:"origins" doc:"Those that are approved."`
	Credentials []Login  `json:"credentials"`
}

// Login is a reference to a login, for one use in this tab.
type Login struct {
	Ref    string `json:"credentialRef"`
	Origin string `json:"origin"`
}

// CredentialArgs are those of vault:fill and vault:prepare-submit.
type CredentialArgs struct {
	Session string `json:"sessionId" arg:"required,maxlen=36"`
	Ref     string `json:"credentialRef" arg:"required,maxlen=1024"`
}

// PreparedForm is what vault:prepare-submit gives.
type PreparedForm struct {
	Completed bool `json:"completed"`
	Prepared  bool `json:"prepared"`
}

func (d *Desk) vaultTools() []tool.Tool {
	return []tool.Tool{
		define("vault:status", "Tells whether there is a vault and whether it is open.", true, func(ctx context.Context, c *Call, a Target) (VaultState, error) {
			if d.Vault == nil {
				return VaultState{}, nil
			}
			s, err := d.Vault.State(ctx)
			if err != nil {
				return VaultState{}, err
			}
			return VaultState{s.Exists, s.Locked, c.Policy.Passwords.Enabled, c.Policy.Passwords.Autofill}, nil
		}),
		define("vault:list", "Lists the logins that fit the tab's page, as references for one use.", true, d.logins),
		define("vault:fill", "Puts a login into the approved form on the page, and does not send it.", false, func(ctx context.Context, c *Call, a CredentialArgs) (Done, error) {
			err := d.fill(ctx, c, a, false)
			return Done{Completed: err == nil}, err
		}),
		define("vault:prepare-submit", "Puts a login into the approved form and permits sending it once, for 15 seconds.", false, func(ctx context.Context, c *Call, a CredentialArgs) (PreparedForm, error) {
			if !c.Policy.Passwords.Submission {
				return PreparedForm{}, fail(wire.CodeDenied, "controlled submission is not enabled")
			}
			err := d.fill(ctx, c, a, true)
			return PreparedForm{err == nil, err == nil}, err
		}),
	}
}

// opened says whether the vault can be used by agents now.
func (d *Desk) opened(ctx context.Context, c *Call) (vault.State, error) {
	if d.Vault == nil || !c.Policy.Passwords.Enabled {
		return vault.State{}, fail(wire.CodeDenied, "logins are not enabled")
	}
	s, err := d.Vault.State(ctx)
	if err != nil {
		return s, err
	}
	if !s.Exists || s.Locked {
		return s, fail(wire.CodeDenied, "the vault is locked")
	}
	return s, nil
}

func place(c *Call, t tabs.Tab) vault.Place {
	return vault.Place{Principal: c.Principal, Tab: t.ID, Document: t.Document, Policy: c.Policy.Version}
}

func (d *Desk) logins(ctx context.Context, c *Call, a Target) (Logins, error) {
	if _, err := d.opened(ctx, c); err != nil {
		return Logins{}, err
	}
	capture, err := d.take(ctx, c, a.Session, tabs.Need{Website: true})
	if err != nil {
		return Logins{}, err
	}
	forms, err := d.forms(ctx, c, capture)
	if err != nil {
		return Logins{}, err
	}
	all, err := d.Vault.List(ctx)
	if err != nil {
		return Logins{}, err
	}
	out := Logins{Origins: []string{}, Credentials: []Login{}}
	for _, f := range c.Policy.Passwords.Forms {
		if o := f.Origin(); c.permits(tabs.HostOf(f.Action)) && !slices.Contains(out.Origins, o) {
			out.Origins = append(out.Origins, o)
		}
	}
	var ids []string
	for _, l := range all {
		if slices.Contains(forms, formOf(l)) {
			ids = append(ids, l.ID)
			out.Credentials = append(out.Credentials, Login{Origin: l.Origin})
		}
	}
	for i, ref := range d.refs.Make(d.Now(), place(c, capture.Tab()), ids) {
		out.Credentials[i].Ref = ref
	}
	holds(c, capture)
	return out, nil
}

func formOf(c store.Credential) publish.Form {
	return publish.Form{Action: c.Action, User: c.UserField, Pass: c.PassField}
}

// forms are the approved forms that are on the page.
func (d *Desk) forms(ctx context.Context, c *Call, capture *tabs.Capture) ([]publish.Form, error) {
	approved := c.Policy.Passwords.Forms
	type form struct {
		Action string `json:"action"`
		User   string `json:"user"`
		Pass   string `json:"pass"`
	}
	arg := []form{}
	for _, f := range approved {
		arg = append(arg, form(f))
	}
	var got struct {
		Forms []int `json:"forms"`
		Moved bool  `json:"moved"`
	}
	if err := capture.Run(ctx, tabs.Forms, map[string]any{"forms": arg}, &got); err != nil {
		return nil, err
	}
	if got.Moved {
		return nil, tabs.ErrDocument
	}
	var out []publish.Form
	at := capture.Tab()
	for _, i := range got.Forms {
		if i >= 0 && i < len(approved) && approved[i].Origin() == origin(at.URL) {
			out = append(out, approved[i])
		}
	}
	return out, nil
}

// fill uses a reference up and puts its login into the form. submit arms one submission of it.
func (d *Desk) fill(ctx context.Context, c *Call, a CredentialArgs, submit bool) error {
	before, err := d.opened(ctx, c)
	if err != nil {
		return err
	}
	capture, err := d.take(ctx, c, a.Session, tabs.Need{Foreground: true, Interactive: true, Website: true})
	if err != nil {
		return err
	}
	tab := capture.Tab()
	end := c.Trace.Start(span.CredentialClaim)
	id, err := d.refs.Use(d.Now(), place(c, tab), a.Ref)
	end(err != nil)
	if err != nil {
		return fail(wire.CodeDenied, "the reference cannot be used here")
	}
	all, err := d.Vault.List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(l store.Credential) bool { return l.ID == id })
	if i < 0 {
		return fail(wire.CodeDenied, "the login is gone")
	}
	form := formOf(all[i])
	forms, err := d.forms(ctx, c, capture)
	if err != nil {
		return err
	}
	if !slices.Contains(forms, form) {
		return fail(wire.CodeDenied, "the form is not the approved one")
	}
	login, err := d.Vault.Open(all[i])
	if err != nil {
		return fail(wire.CodeDenied, "the login does not open")
	}
	defer login.Wipe()
	if err := d.bind(ctx, c, tab.ID); err != nil {
		return err
	}
	still := func() bool {
		if !c.Current() || !d.Vault.Unchanged(before.Changes) {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), Deadline/10)
		defer cancel()
		now, err := d.Browser.Tab(ctx, tab.ID)
		return err == nil && now.Document == tab.Document && now.Foreground && now.Activation == tab.Activation && !now.Covered
	}
	if !still() {
		return tabs.ErrStale
	}
	// The watch comes first: from the moment the password is in the page, nothing may carry it away.
	lease := vault.NewLease(vault.Terms{Form: form, Tab: tab.ID, Document: tab.Document, Armed: submit, Still: still, Now: d.Now,
		Tell: func(p vault.Phase) {
			if c.Tell != nil {
				c.Tell(string(p))
			}
		}, Trace: c.Trace}, login)
	if err := d.Browser.Watch(ctx, tab.ID, lease); err != nil {
		lease.End()
		return err
	}
	d.keep(tab.ID, lease)
	if err := d.act(ctx, capture, tabs.Fill, map[string]string{"action": form.Action, "user": form.User, "pass": form.Pass, "userValue": login.User, "passValue": login.Pass}); err != nil {
		return err // the lease stays: part of it may be in the page
	}
	if err := capture.Check(ctx); err != nil {
		return err
	}
	holds(c, capture)
	return nil
}

// keep remembers a tab's lease; the one before it ends.
func (d *Desk) keep(tab string, l *vault.Lease) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leases == nil {
		d.leases = map[string]*vault.Lease{}
	}
	if old := d.leases[tab]; old != nil {
		old.End()
	}
	d.leases[tab] = l
}

// forget lets no prepared submission of the tab through any more: the agent goes elsewhere.
func (d *Desk) forget(tab string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.leases[tab]; l != nil {
		l.Disarm()
	}
}
