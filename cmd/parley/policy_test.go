package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/guard/audit"
)

// cli is run on one data folder.
func cli(t *testing.T, data string, args ...string) (int, string, string) {
	t.Helper()
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	t.Setenv("PARLEY_DATA", data)
	return dispatchCaptured(t, args...)
}

func TestThePolicyIsShownExplainedComparedAndChanged(t *testing.T) {
	data := t.TempDir()
	code, out, _ := cli(t, data, "policy", "print")
	if code != exitOK || !strings.Contains(out, "table standard") || !strings.Contains(out, "allow    form-submission") || !strings.Contains(out, "(locked)") {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ = cli(t, data, "policy", "explain", "navigate", `{"url":"javascript:alert(1)"}`)
	if code != exitOK || !strings.Contains(out, "navigate: deny") || !strings.Contains(out, "non-http-navigation") {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ = cli(t, data, "policy", "diff", "standard", "guarded")
	if code != exitOK || !strings.Contains(out, "form-submission: allow when submitsForm -> confirm when submitsForm") {
		t.Errorf("%d %s", code, out)
	}
	if code, out, errs := cli(t, data, "policy", "set", "form-submission", "deny"); code != exitOK || !strings.Contains(out, "form-submission: deny") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, _ = cli(t, data, "policy", "diff", "standard")
	if code != exitOK || strings.Count(out, "\n") != 1 || !strings.Contains(out, "form-submission") {
		t.Errorf("%d %s", code, out)
	}
	for _, args := range [][]string{{"set", "reserved-action", "allow"}, {"set", "nothing", "allow"}, {"set", "form-submission", "maybe"}} {
		if code, _, errs := cli(t, data, append([]string{"policy"}, args...)...); code != exitRefused || errs == "" {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	saved := filepath.Join(t.TempDir(), "p.json")
	_, out, _ = cli(t, data, "policy", "print", "--json")
	if err := os.WriteFile(saved, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = cli(t, data, "policy", "diff", saved); code != exitOK || out != "no difference\n" {
		t.Errorf("a printed policy does not read back: %d %s", code, out)
	}
	for _, args := range [][]string{{}, {"frob"}, {"explain"}, {"diff"}, {"set", "x"}, {"explain", "navigate", "{"}} {
		if code, _, _ := cli(t, data, append([]string{"policy"}, args...)...); code != exitUsage {
			t.Errorf("policy %v: %d", args, code)
		}
	}
}

func TestTheRecordIsVerifiedAndShown(t *testing.T) {
	data := t.TempDir()
	if code, _, errs := cli(t, data, "audit", "verify"); code != exitFailed || !strings.Contains(errs, "no record") {
		t.Errorf("%d %s", code, errs)
	}
	dir := filepath.Join(data, auditFolder)
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := log.Write(audit.Record{At: time.Unix(1e9, 0), Stage: "completed", Tenant: "me", Tool: "read"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := cli(t, data, "audit", "verify"); code != exitOK || !strings.Contains(out, "3 records") {
		t.Errorf("%d %s", code, out)
	}
	for format, want := range map[string]string{"jsonl": `"seq":1`, "ecs": `"ecs"`, "cef": "CEF:0|"} {
		if code, out, errs := cli(t, data, "audit", "show", "--format", format); code != exitOK || strings.Count(out, want) == 0 || strings.Count(out, "\n") != 3 {
			t.Errorf("%s: %d %s %s", format, code, out, errs)
		}
	}
	file := filepath.Join(dir, "audit.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(b), `"tool":"read"`, `"tool":"find"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := cli(t, data, "audit", "verify"); code != exitFailed || !strings.Contains(errs, "broken") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestBadGuardSettingsStopTheStart(t *testing.T) {
	strong := strings.Repeat("k", 32)
	for _, c := range []struct{ name, value, want string }{
		{"PARLEY_TOKENS", "me:short", "fewer than 32"}, {"PARLEY_POLICY", "lax", "none of"}, {"PARLEY_UNATTENDED", "yes", "deny, allow"},
		{"PARLEY_TENANT_ALLOW", "me=http://x", "PARLEY_TENANT_ALLOW"}, {"PARLEY_TOKEN_GRANTS", "me=fly", "PARLEY_TOKEN_GRANTS"}, {"PARLEY_TOKEN_POLICIES", "me=odd", "PARLEY_TOKEN_POLICIES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PARLEY_TOKENS", "me:"+strong)
			t.Setenv(c.name, c.value)
			t.Setenv("PARLEY_FEATURES_MEETINGS", "0")
			code, _, errs := cli(t, t.TempDir(), "serve", "--listen", "127.0.0.1:0")
			if code != exitUsage || !strings.Contains(errs, c.want) || strings.Contains(errs, "short ") {
				t.Errorf("%d %s", code, errs)
			}
		})
	}
}

// TestPolicyAndAuditAsSomebodyMistypesThem: each mistake is named, changes nothing, and has its exit code.
func TestPolicyAndAuditAsSomebodyMistypesThem(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(data, "notes.txt")
	if err := os.WriteFile(text, []byte("no policy"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"policy", exitUsage, "print, explain, diff or set"},
		{"policy explain", exitUsage, "explain TOOL"},
		{"policy explain navigatte", exitOK, "nobody classified"},
		{"policy explain navigate {", exitUsage, "JSON"},
		{"policy explain navigate []", exitUsage, "array"},
		{`policy explain navigate {"url":1}`, exitUsage, "url"},
		{`policy explain navigate {} more`, exitUsage, "explain TOOL"},
		{"policy diff", exitUsage, "diff A"},
		{"policy diff strict", exitUsage, "none of standard, guarded, current"},
		{"policy diff standard " + text, exitUsage, "policy print --json"},
		{"policy diff standard " + data, exitUsage, "none of standard"},
		{"policy set", exitUsage, "set RULE"},
		{"policy set nosuch allow", exitRefused, "no rule"},
		{"policy set form-submission maybe", exitRefused, "allow, confirm, deny"},
		{"policy set reserved-action allow", exitRefused, "locked"},
		{"audit", exitUsage, "verify or show"},
		{"audit verify more", exitUsage, "verify or show"},
		{"audit verify --dir " + filepath.Join(data, "none"), exitFailed, "no record"},
		{"audit verify --dir " + data, exitFailed, "holds no record"},
		{"audit verify --dir " + text, exitFailed, ""},
		{"audit show --dir " + data + " --format xml", exitUsage, "jsonl, ecs, cef"},
	} {
		code, out, errs := cli(t, data, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.says) || code != exitOK && out != "" {
			t.Errorf("%s: %d %q %q, want %d and %q", c.args, code, out, errs, c.code, c.says)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "policy.json")); err == nil {
		t.Error("a refused change left a file")
	}

	// A record that somebody worked on.
	dir := filepath.Join(data, auditFolder)
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := log.Write(audit.Record{At: time.Unix(1e9, 0), Stage: "completed", Tenant: "me", Tool: "read"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "audit.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")[:5]
	for what, bad := range map[string]string{
		"one changed":     strings.Replace(string(whole), `"read"`, `"type"`, 1),
		"one left out":    lines[0] + lines[1] + lines[3] + lines[4],
		"one doubled":     lines[0] + lines[1] + lines[1] + lines[2] + lines[3] + lines[4],
		"two exchanged":   lines[0] + lines[2] + lines[1] + lines[3] + lines[4],
		"the last gone":   strings.Join(lines[:4], ""),
		"no JSON":         strings.Join(lines[:3], "") + "\x00\xff\n" + lines[3] + lines[4],
		"a folder for it": "",
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(file, []byte(bad), 0o600)
		if bad == "" {
			err = errors.Join(os.Remove(file), os.Mkdir(file, 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		if code, out, errs := cli(t, data, "audit", "verify"); code == exitOK || out != "" || errs == "" {
			t.Errorf("%s: %d %q %q", what, code, out, errs)
		}
	}
	if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, whole, 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := cli(t, data, "audit", "verify"); code != exitOK || !strings.Contains(out, "5 records") {
		t.Errorf("as it was: %d %q %q", code, out, errs)
	}
}
