package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestWhichHostsAListAllows(t *testing.T) {
	r, err := ParseRules("example.org, *.shop.example, 127.0.0.1:4848,[::1]:9, bücher.example, api.test:8443")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		port int
		want bool
	}{
		{"example.org", 443, true}, {"example.org", 80, true}, {"example.org", 22, false}, {"www.example.org", 443, false},
		{"example.org.evil.test", 443, false}, {"notexample.org", 443, false},
		{"a.shop.example", 443, true}, {"a.b.shop.example", 80, true}, {"shop.example", 443, false}, {"xshop.example", 443, false},
		{"127.0.0.1", 4848, true}, {"127.0.0.1", 80, false}, {"127.0.0.1", 4849, false}, {"::1", 9, true},
		{"xn--bcher-kva.example", 443, true}, {"api.test", 8443, true}, {"api.test", 443, false},
	} {
		if got := r.Allows(c.host, c.port); got != c.want {
			t.Errorf("%s:%d: %v", c.host, c.port, got)
		}
	}
	if !r.Names(netip.MustParseAddr("127.0.0.1"), 4848) || r.Names(netip.MustParseAddr("127.0.0.1"), 443) || r.Names(netip.MustParseAddr("10.0.0.1"), 443) {
		t.Error("named addresses")
	}
	all, err := ParseRules("*")
	if err != nil || !all.Allows("anything.test", 443) || all.Allows("anything.test", 25) || all.Names(netip.MustParseAddr("127.0.0.1"), 443) {
		t.Errorf("a star: %v", err)
	}
	back, err := ParseRules(r.String())
	if err != nil || back.String() != r.String() {
		t.Errorf("%s reads back as %s (%v)", r, back, err)
	}
}

func TestABadListIsNamed(t *testing.T) {
	for in, want := range map[string]string{
		"me=a.test,http://b.test": "b.test", "me": "want tenant=host", "Me=a.test": "lower case", "me=": "no hosts", "me=a.test:0": "port", "me=a.test:x": "port",
		"me=*.127.0.0.1": "below an address", "me=u@a.test": "no host", "me=127.1": "another spelling", "me=0x7f000001": "another spelling", "me=a..b": "no host", "me=[fe80::1%25eth0]": "no host",
	} {
		if _, err := ParseTenants(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	m, err := ParseTenants("ops=*.example.org,example.org,127.0.0.1:4848; swarm=*.example.org")
	if err != nil || len(m) != 2 || len(m["ops"]) != 3 {
		t.Errorf("%v %v", m, err)
	}
}

func FuzzRules(f *testing.F) {
	f.Add("*.a.test:443,[::1]:9,*")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRules(s)
		if err != nil {
			return
		}
		if back, err := ParseRules(r.String()); err != nil || back.String() != r.String() {
			t.Fatalf("%q: %q does not read back: %v", s, r.String(), err)
		}
	})
}
