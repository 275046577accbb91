//go:build accept

package browse_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/browser/browsertest"
	"parley/guard/fence"
	"parley/mcp"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
)

// typescriptSDK is the client's library; npm fetches it from its registry into a folder of the test's own.
const typescriptSDK = "@modelcontextprotocol/sdk@1.32.2"

// TestTwentyStepsOfTheTypeScriptClient works the browser with the library that most hosts are built on.
func TestTwentyStepsOfTheTypeScriptClient(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": shop, "/about": "<title>About</title><p>About us</p><a href=/>Shop</a>"})
	dir := t.TempDir()
	if out, err := exec.Command("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir, typescriptSDK).CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	script, err := os.ReadFile("testdata/twenty.mjs")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "twenty.mjs")
	if err := os.WriteFile(program, script, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, env []string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "node", append([]string{program, at}, args...)...)
		c.Dir, c.Env = dir, append(os.Environ(), env...)
		c.WaitDelay = 5 * time.Second
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "steps") {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
	}
	t.Run("http", func(t *testing.T) {
		endpoint, token, m := serveHTTP(t)
		run(t, nil, "http", endpoint+"/mcp", token)
		if n := m.Count(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		run(t, []string{"PARLEY_TEST_SERVE_STDIO=1"}, "stdio", self, "-test.run", "^TestServeStdio$")
	})
}

// TestServeStdio is no test: it is the server that the one above starts.
func TestServeStdio(t *testing.T) {
	if os.Getenv("PARLEY_TEST_SERVE_STDIO") == "" {
		t.Skip("the server of another test")
	}
	m := browsertest.Manager(t, nil)
	tools, err := tool.NewService(tool.Options{Tools: browse.Tools(m), Fence: fence.Fence{}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := mcp.New(mcp.Options{Version: "test", Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	_ = server.ServeStdio(context.Background(), os.Stdin, os.Stdout, tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full}}})
}
