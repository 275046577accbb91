package tenant

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestParseTokens(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // tenant:token…, or the part of an error after "!"
	}{
		{"", ""},
		{"me:A", "me:A"},
		{"me:A,me:B,swarm:C", "me:A me:B swarm:C"},
		{" me : A ,\n swarm:C,", "me:A swarm:C"},
		{"me:a:b", "me:a:b"},
		{"me", "!entry 1: want tenant:token"},
		{"me:A,", "me:A"},
		{"me:", "!tenant me): the token is empty"},
		{":A", "!a tenant needs a name"},
		{"Me:A", "!lower case"},
		{"-me:A", "!starting with"},
		{"me:A,me:A", "!stands twice"},
		{"me:A,you:A", "!tenants me and you have the same token"},
		{"me:ä", "!visible ASCII"},
		{"me:a b", "!visible ASCII"},
		{"me:" + strings.Repeat("x", 512), "me:" + strings.Repeat("x", 512)},
		{"me:" + strings.Repeat("x", 513), "!longer than 512"},
		{strings.Repeat("s3cret", 20) + ":x", "!want tenant:token"},
	} {
		got, err := ParseTokens(c.in)
		if want, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want %q", c.in, err, want)
			}
			continue
		}
		var words []string
		for _, x := range got {
			words = append(words, string(x.Tenant)+":"+x.Token)
		}
		if err != nil || strings.Join(words, " ") != c.want {
			t.Errorf("%q: %v, %v", c.in, words, err)
		}
	}
}

func TestErrorsNeverQuoteATokenOrWhatMayBeOne(t *testing.T) {
	const secret = "SECRETSECRET"
	for _, in := range []string{secret, "me:" + secret + " x", "me:" + secret + ",you:" + secret, "a:b," + secret + "," + secret} {
		if _, err := ParseTokens(in); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestParsePolicies(t *testing.T) {
	got, err := ParsePolicies("swarm=ephemeral, me=full")
	if err != nil || got["swarm"] != Ephemeral || got["me"] != Full || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, bad := range []string{"swarm", "swarm=none", "=full", "me=full,me=ephemeral"} {
		if _, err := ParsePolicies(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestParseGrants(t *testing.T) {
	got, err := ParseGrants("me=meeting,announce-none; you=meeting\n")
	if err != nil || len(got["me"]) != 2 || got["me"][1] != AnnounceNone || len(got["you"]) != 1 {
		t.Fatal(got, err)
	}
	for _, bad := range []string{"me", "me=everything", "ME=meeting"} {
		if _, err := ParseGrants(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestParseQuotas(t *testing.T) {
	got, err := ParseQuotas("me=meetings:2; swarm = meetings : 1 \n")
	if err != nil || got["me"].Meetings != 2 || got["swarm"].Meetings != 1 || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, bad := range []string{"me", "me=meetings", "me=meetings:0", "me=meetings:1001", "me=meetings:x", "me=tables:1", "ME=meetings:1"} {
		if _, err := ParseQuotas(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestRegistry(t *testing.T) {
	creds, err := ParseTokens("me:A,me:B,swarm:C")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRegistry(Config{Tokens: creds, Policies: map[ID]Policy{"swarm": Ephemeral}, Grants: map[ID][]Grant{"me": {AnnounceNone}}})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]ID{"A": "me", "B": "me", "C": "swarm"} {
		p, err := r.Authenticate(token)
		if err != nil || p.Tenant.ID != want || p.Token != HashOf(token).ID() {
			t.Errorf("%s: %+v, %v", token, p, err)
		}
	}
	for _, token := range []string{"", "a", "AB", "me:A", strings.Repeat("A", 600)} {
		if _, err := r.Authenticate(token); !errors.Is(err, ErrToken) {
			t.Errorf("%.10q: %v", token, err)
		}
	}
	me, _ := r.Get("me")
	swarm, _ := r.Get("swarm")
	if !me.Can(Meeting) || !me.Can(AnnounceNone) || swarm.Can(Meeting) {
		t.Errorf("%+v %+v", me, swarm)
	}
	if w := r.Weak(); len(w) != 2 {
		t.Errorf("weak: %v", w)
	}
}

func TestRegistryRefuses(t *testing.T) {
	one := []Credential{{"me", "A"}}
	for name, c := range map[string]Config{
		"policy of nobody":     {Tokens: one, Policies: map[ID]Policy{"you": Full}},
		"grants of nobody":     {Tokens: one, Grants: map[ID][]Grant{"you": {Meeting}}},
		"quota of nobody":      {Tokens: one, Quotas: map[ID]Quota{"you": {Meetings: 1}}},
		"one token for two":    {Tokens: []Credential{{"me", "A"}, {"you", "A"}}},
		"ephemeral with grant": {Tokens: one, Policies: map[ID]Policy{"me": Ephemeral}, Grants: map[ID][]Grant{"me": {Meeting}}},
	} {
		if _, err := NewRegistry(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestLocalTenant(t *testing.T) {
	for _, c := range []struct{ tokens, wanted, want string }{
		{"", "", "me"}, {"ops:A", "", "ops"}, {"ops:A,swarm:B", "", "me"}, {"ops:A", "swarm", "swarm"},
	} {
		creds, err := ParseTokens(c.tokens)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRegistry(Config{Tokens: creds})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Local(ID(c.wanted)); err != nil || string(got.ID) != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
}

func TestLocalTokenIsOneForAllWhoAskAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	tokens := make([]string, 16)
	made := make([]bool, len(tokens))
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], made[i], err = LocalToken(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	makers := 0
	for i := range tokens {
		if tokens[i] != tokens[0] || tokens[i] == "" {
			t.Fatalf("two tokens")
		}
		if made[i] {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d made the token", makers)
	}
	info, err := os.Stat(filepath.Join(dir, LocalTokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".token-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLocalTokenRefusesAnOpenOrBrokenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LocalTokenFile)
	if err := os.WriteFile(path, []byte("abc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LocalToken(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("a b\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LocalToken(dir); err == nil || strings.Contains(err.Error(), "a b") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("mine\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, made, err := LocalToken(dir); token != "mine" || made || err != nil {
		t.Error(token, made, err)
	}
}

func TestNewTokenIsStrongAndPasses(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) < MinToken || checkToken(a) != nil {
		t.Error(a, b)
	}
	h, err := ParseHash(HashOf(a).String())
	if err != nil || h != HashOf(a) {
		t.Error(err)
	}
	if _, err := ParseHash("12"); err == nil {
		t.Error("a short hash was taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("me:A,me:B,swarm:C")
	f.Add("me=full")
	f.Add("me=meeting,announce-none;you=meeting")
	f.Fuzz(func(t *testing.T, s string) {
		if creds, err := ParseTokens(s); err == nil {
			if _, err := NewRegistry(Config{Tokens: creds}); err != nil {
				t.Errorf("%q: what was parsed was refused: %v", s, err)
			}
		}
		_, _ = ParsePolicies(s)
		_, _ = ParseGrants(s)
		_, _ = ParseQuotas(s)
	})
}
