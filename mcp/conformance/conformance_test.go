//go:build accept

package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/mcp"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

const token = "token-of-me-0123456789abcdefghijklm"

// serve starts a server with the suite's fixtures. The suite cannot send a token: with authorized, a handler
// in front adds it. Nothing else of a request is touched.
func serve(t *testing.T, authorized bool) string {
	t.Helper()
	reg, err := tenant.NewRegistry(tenant.Config{Tokens: []tenant.Credential{{Tenant: "me", Token: token}}})
	if err != nil {
		t.Fatal(err)
	}
	meetings := &toolfake.Meetings{}
	tools, err := tool.NewService(tool.Options{Tools: tool.Table(meetings, nil)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.New(mcp.Options{Version: "test", Tools: tools, Auth: reg, Events: meetings, Extend: fixtures})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authorized {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		s.Handler().ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- front.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(tools.Close(ctx), s.Close(ctx), front.Close()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// npx runs a package's program and gives what it printed.
func npx(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npx", append([]string{"-y"}, args...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func nodeMajor(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Fatal("node is missing; the acceptance run needs it: ", err)
	}
	m := regexp.MustCompile(`^v(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("node says %q", out)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestThePublicSuite(t *testing.T) {
	version := "0.1.13"
	if nodeMajor(t) >= 22 {
		version = "0.1.16"
	}
	expected, err := filepath.Abs("expected.yml")
	if err != nil {
		t.Fatal(err)
	}
	out, err := npx(t, "@modelcontextprotocol/conformance@"+version, "server", "--suite", "all", "--url", serve(t, true), "--expected-failures", expected)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if i := strings.Index(out, "SUMMARY"); i >= 0 {
		t.Log(out[i:])
	}
}

func TestTheInspectorsCommandLine(t *testing.T) {
	nodeMajor(t)
	url := serve(t, false)
	inspect := func(args ...string) string {
		t.Helper()
		out, err := npx(t, append([]string{"@modelcontextprotocol/inspector@0.17.2", "--cli", url, "--transport", "http", "--header", "Authorization: Bearer " + token}, args...)...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	if out := inspect("--method", "tools/list"); !strings.Contains(out, `"name": "meeting_join"`) {
		t.Error(out)
	}
	out := inspect("--method", "tools/call", "--tool-name", "meeting_join", "--tool-arg", "url=http://127.0.0.1/room/i")
	id := regexp.MustCompile(`"meeting_id": "(m[0-9a-f]+)"`).FindStringSubmatch(out)
	if id == nil || !strings.Contains(out, `"state": "attending"`) {
		t.Fatal(out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "meeting_chat_read", "--tool-arg", "meeting_id="+id[1]); !strings.Contains(out, `"messages": []`) {
		t.Error(out)
	}
	if out := inspect("--method", "resources/list"); !strings.Contains(out, "parley://meeting/"+id[1]+"/transcript") {
		t.Error(out)
	}
}
