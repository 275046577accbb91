package channel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

var all = Grant{true, true, true, true, true}

func ch(tenant, meeting string) Channel {
	return Channel{ID: ID(meeting), Tenant: tenant, Meeting: meeting, Label: meeting}
}

func must(t *testing.T) func([]Action, error) []Action {
	return func(a []Action, err error) []Action {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func want(t *testing.T, got []Action, want string) {
	t.Helper()
	s := ""
	for _, a := range got {
		switch a := a.(type) {
		case Register:
			s += fmt.Sprintf("register %d %s; ", a.Conn, a.Channel.Meeting)
		case Remove:
			s += fmt.Sprintf("remove %d %s; ", a.Conn, a.ID)
		case Send:
			s += fmt.Sprintf("send %d %s; ", a.Conn, a.Message.ID)
		}
	}
	if s != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

func TestEveryConnectionOfTheTenantGetsTheChannel(t *testing.T) {
	d := NewDesk()
	want(t, must(t)(d.Attach(1, "me", all)), "")
	want(t, must(t)(d.Attach(2, "other", all)), "")
	want(t, must(t)(d.Attach(3, "me", Grant{})), "")
	want(t, must(t)(d.Begin(ch("me", "m1"))), "register 1 m1; ")
	want(t, must(t)(d.Attach(4, "me", all)), "register 4 m1; ")
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "send 1 x; send 4 x; ")
	want(t, d.Regrant(3, all), "register 3 m1; ")
	want(t, d.Regrant(3, all), "")
	d.Detach(4)
	want(t, d.End(ID("m1")), "remove 1 parley:meeting:m1; remove 3 parley:meeting:m1; ")
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "")
	want(t, must(t)(d.Attach(5, "me", all)), "")
	if _, err := d.Publish(1, ID("m1")); !errors.Is(err, ErrUnknown) {
		t.Errorf("publish to an ended meeting: %v", err)
	}
}

func TestOnlyOnesOwnChannelsUnderThePresentGrant(t *testing.T) {
	d := NewDesk()
	must(t)(d.Attach(1, "me", all))
	must(t)(d.Attach(2, "other", all))
	must(t)(d.Attach(3, "me", Grant{Incoming: true, Publish: true})) // cannot register, so it has nothing
	must(t)(d.Begin(ch("me", "m1")))
	for _, c := range []struct {
		name string
		conn Conn
		id   string
		grnt *Grant
		err  error
	}{
		{"one's own", 1, ID("m1"), nil, nil},
		{"another tenant's", 2, ID("m1"), nil, ErrUnknown},
		{"one that never was", 2, ID("m9"), nil, ErrUnknown},
		{"one that was not registered here", 3, ID("m1"), nil, ErrUnknown},
		{"a connection nobody knows", 9, ID("m1"), nil, DeniedError{CapPublish}},
		{"after the grant was narrowed", 1, ID("m1"), &Grant{Register: true}, DeniedError{CapPublish}},
		{"and widened again", 1, ID("m1"), &all, nil},
	} {
		if c.grnt != nil {
			d.Regrant(c.conn, *c.grnt)
		}
		got, err := d.Publish(c.conn, c.id)
		if !errors.Is(err, c.err) || err == nil && got.Meeting != "m1" {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	d.Regrant(1, Grant{Register: true, Publish: true})
	if _, err := d.Stream(1, ID("m1")); !errors.Is(err, DeniedError{CapStreaming}) {
		t.Errorf("stream: %v", err)
	}
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "")
	if d.Taken(ID("m1")) {
		t.Error("nobody may hear it, and yet it is taken")
	}
}

func TestOpenAndShut(t *testing.T) {
	d := NewDesk()
	must(t)(d.Attach(1, "me", all))
	must(t)(d.Begin(ch("me", "m1")))
	if !d.Taken(ID("m1")) {
		t.Error("it is open from the beginning")
	}
	if _, err := d.Shut(1, ID("m1")); err != nil {
		t.Fatal(err)
	}
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "")
	if _, err := d.Publish(1, ID("m1")); err != nil {
		t.Errorf("publish to a closed channel: %v", err)
	}
	if _, err := d.Shut(1, ID("m1")); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := d.Open(1, ID("m1")); err != nil {
		t.Fatal(err)
	}
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "send 1 x; ")
	if _, err := d.Open(1, ID("m2")); !errors.Is(err, ErrUnknown) {
		t.Errorf("open an unknown one: %v", err)
	}
	if len(d.List(1)) != 1 {
		t.Errorf("list: %v", d.List(1))
	}
}

func TestARefusedOfferIsMadeAgainOnlyWhenAsked(t *testing.T) {
	d := NewDesk()
	must(t)(d.Attach(1, "me", all))
	must(t)(d.Begin(ch("me", "m1")))
	d.Registered(1, ID("m1"), false)
	want(t, d.Tell(Message{ID: "x", Channel: ID("m1")}), "")
	if _, err := d.Publish(1, ID("m1")); !errors.Is(err, ErrUnknown) {
		t.Errorf("publish to a refused channel: %v", err)
	}
	want(t, d.Regrant(1, all), "")
	want(t, d.Retry(1), "register 1 m1; ")
	d.Registered(1, ID("m1"), true)
	want(t, d.End(ID("m1")), "remove 1 parley:meeting:m1; ")
}

func TestBounds(t *testing.T) {
	d := NewDesk()
	for i := range connsMax {
		must(t)(d.Attach(Conn(i), "me", Grant{}))
	}
	if _, err := d.Attach(connsMax, "me", all); !errors.Is(err, ErrFull) {
		t.Errorf("one connection too many: %v", err)
	}
	for i := range channelsMax {
		must(t)(d.Begin(ch("me", fmt.Sprint("m", i))))
	}
	if _, err := d.Begin(ch("me", "mm")); !errors.Is(err, ErrFull) {
		t.Errorf("one channel too many: %v", err)
	}
	if _, err := d.Begin(ch("me", "m1")); err == nil {
		t.Error("the same channel twice")
	}
}

// TestNothingLeaks plays random acts and checks that no tenant ever gets anything of another.
func TestNothingLeaks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	tenants := []string{"a", "b", "c"}
	d := NewDesk()
	owner := map[Conn]string{}
	registered := map[string]bool{}
	check := func(acts []Action) {
		for _, a := range acts {
			switch a := a.(type) {
			case Register:
				if owner[a.Conn] != a.Channel.Tenant {
					t.Fatal("a channel is offered to another tenant")
				}
				registered[fmt.Sprint(a.Conn, a.Channel.ID)] = true
			case Remove:
				if !registered[fmt.Sprint(a.Conn, a.ID)] {
					t.Fatal("a channel is removed that was never offered")
				}
			case Send:
				if !registered[fmt.Sprint(a.Conn, a.Message.Channel)] || owner[a.Conn] != a.Message.Thread {
					t.Fatal("a message goes where it does not belong")
				}
			}
		}
	}
	for range 20000 {
		c := Conn(r.IntN(6))
		m := r.IntN(6)
		tenant := tenants[m%3]
		id := ID(fmt.Sprint("m", m))
		g := Grant{r.IntN(4) > 0, r.IntN(4) > 0, r.IntN(4) > 0, r.IntN(4) > 0, r.IntN(4) > 0}
		switch r.IntN(10) {
		case 0:
			if _, on := owner[c]; !on {
				owner[c] = tenants[r.IntN(3)]
				acts, err := d.Attach(c, owner[c], g)
				if err != nil {
					t.Fatal(err)
				}
				check(acts)
			}
		case 1:
			d.Detach(c)
			delete(owner, c)
			for k := range registered {
				if k[0] == fmt.Sprint(c)[0] {
					delete(registered, k)
				}
			}
		case 2:
			if acts, err := d.Begin(ch(tenant, fmt.Sprint("m", m))); err == nil {
				check(acts)
			}
		case 3:
			check(d.End(id))
		case 4:
			check(d.Regrant(c, g))
		case 5:
			d.Registered(c, id, r.IntN(3) > 0)
		case 6:
			check(d.Retry(c))
		case 7:
			_, _ = d.Open(c, id)
			_, _ = d.Shut(c, ID(fmt.Sprint("m", r.IntN(6))))
		case 8:
			if got, err := d.Publish(c, id); err == nil && got.Tenant != owner[c] {
				t.Fatal("somebody publishes to another tenant's meeting")
			}
		default:
			check(d.Tell(Message{ID: "x", Channel: id, Thread: tenant}))
		}
	}
}
