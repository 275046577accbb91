package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/mcp"
	"parley/mcp/bridge"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

const token = "token-of-me-0123456789abcdefghijklm"

func TestMain(m *testing.M) {
	switch os.Getenv("BRIDGE_TEST") {
	case "bridge":
		c, err := bridge.FromEnv(os.Getenv)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(bridge.ExitConfig)
		}
		os.Exit(bridge.Run(context.Background(), c, os.Stdin, os.Stdout, os.Stderr))
	case "parent": // starts a bridge that keeps our stdin and stdout, tells its id, and ends when told to
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BRIDGE_TEST=bridge")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			os.Exit(9)
		}
		fmt.Fprintln(os.Stderr, cmd.Process.Pid)
		b := make([]byte, 1)
		f := os.NewFile(3, "go")
		f.Read(b)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// service is a real one with simulated meetings.
func service(t *testing.T) string {
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
	s, err := mcp.New(mcp.Options{Tools: tools, Auth: reg, Events: meetings})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(tools.Close(ctx), s.Close(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return "ws://" + l.Addr().String()
}

// run is a bridge process.
type run struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	outEnd io.Closer
	stderr *bytes.Buffer
}

func start(t *testing.T, env ...string) *run {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{"BRIDGE_TEST=bridge", "PARLEY_TOKEN=" + token}, env...)
	r := &run{t: t, cmd: cmd, stderr: &bytes.Buffer{}}
	var err error
	if r.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out, r.outEnd = bufio.NewReaderSize(out, 1<<20), out
	cmd.Stderr = r.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) send(s string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, s); err != nil {
		r.t.Error(err)
	}
}

// line gives the next answer; notifications may come at any time.
func (r *run) line() string {
	r.t.Helper()
	for {
		s, err := r.out.ReadString('\n')
		if err != nil {
			r.t.Fatalf("reading: %v; %s", err, r.stderr)
		}
		if strings.Contains(s, `"id":`) {
			return s
		}
	}
}

// exit waits for the process and gives its code.
func (r *run) exit() int {
	r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case err := <-done:
		var e *exec.ExitError
		if errors.As(err, &e) {
			return e.ExitCode()
		}
		if err != nil && !errors.Is(err, os.ErrClosed) && !strings.Contains(err.Error(), "file already closed") {
			r.t.Fatal(err)
		}
		return 0
	case <-time.After(20 * time.Second):
		r.t.Fatal("it does not end")
		return -1
	}
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestACallThroughTheBridge(t *testing.T) {
	r := start(t, "PARLEY_URL="+service(t))
	r.send(initialize + "\r\n")
	if got := r.line(); !strings.Contains(got, `"id":0`) || !strings.Contains(got, "parley") {
		t.Error(got)
	}
	r.send("nonsense\n" + `{"a":"` + strings.Repeat("x", 3<<20) + "\"}\n\n")
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	r.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"meeting_join","arguments":{"url":"http://127.0.0.1/room/a","name":"a\u2028b"}}}` + "\n")
	if got := r.line(); !strings.Contains(got, `"id":"a"`) || !strings.Contains(got, "attending") {
		t.Error(got)
	}
	// The last request is answered although the input ends with it.
	r.send(`{"jsonrpc":"2.0","id":"b","method":"tools/list","params":{}}`)
	r.in.Close()
	if got := r.line(); !strings.Contains(got, `"id":"b"`) {
		t.Error(got)
	}
	if code := r.exit(); code != bridge.ExitDone {
		t.Error(code, r.stderr)
	}
	if log := r.stderr.String(); !strings.Contains(log, "not JSON") || !strings.Contains(log, "over 2 MiB") || strings.Contains(log, token) || strings.Contains(log, "nonsense") {
		t.Error(log)
	}
}

func TestItEndsWithItsInput(t *testing.T) {
	r := start(t, "PARLEY_URL="+service(t))
	r.in.Close()
	if code := r.exit(); code != 0 {
		t.Error(code, r.stderr)
	}
}

func TestItEndsWhenNobodyReads(t *testing.T) {
	r := start(t, "PARLEY_URL="+service(t))
	r.send(initialize + "\n")
	r.line()
	r.outEnd.Close() // stdin stays open
	if code := r.exit(); code != 0 {
		t.Error(code, r.stderr)
	}
}

func TestItEndsWithItsParent(t *testing.T) {
	goR, goW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer goW.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = []string{"BRIDGE_TEST=parent", "PARLEY_TOKEN=" + token, "PARLEY_URL=" + service(t)}
	cmd.ExtraFiles = []*os.File{goR}
	inR, inW, err := os.Pipe() // another process holds the bridge's stdin and stdout open: we do
	if err != nil {
		t.Fatal(err)
	}
	defer inW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	defer outW.Close()
	cmd.Stdin, cmd.Stdout = inR, outW
	errR, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	var pid int
	if _, err := fmt.Fscan(errR, &pid); err != nil {
		t.Fatal(err)
	}
	// It works before its parent is gone.
	if _, err := io.WriteString(inW, initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(outR).ReadString('\n'); err != nil || !strings.Contains(line, "parley") {
		t.Fatal(line, err)
	}
	goW.Close()
	goR.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("it goes on without its parent")
}

// zombie tells that a process ended and nobody has asked for it yet.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestItEndsWhenNothingHappens(t *testing.T) {
	r := start(t, "PARLEY_URL="+service(t), "PARLEY_IDLE_EXIT_SEC=1")
	if code := r.exit(); code != 0 {
		t.Error(code, r.stderr)
	}
}

// stub is a service that does as told.
func stub(t *testing.T, serve func(ctx context.Context, ws *websocket.Conn)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		serve(r.Context(), ws)
	}))
	t.Cleanup(srv.Close)
	return "ws" + strings.TrimPrefix(srv.URL, "http")
}

func TestARequestThatWaitsIsNoIdling(t *testing.T) {
	waited := 3 * time.Second
	url := stub(t, func(ctx context.Context, ws *websocket.Conn) {
		if _, _, err := ws.Read(ctx); err != nil {
			t.Error(err)
			return
		}
		time.Sleep(waited)
		if err := ws.Write(ctx, websocket.MessageText, []byte("{\n \"jsonrpc\": \"2.0\",\n \"id\": 7, \"result\": {} }")); err != nil {
			t.Error(err)
		}
		_, _, _ = ws.Read(ctx)
	})
	began := time.Now()
	r := start(t, "PARLEY_URL="+url, "PARLEY_IDLE_EXIT_SEC=1")
	r.send(`{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n")
	if got := r.line(); got != `{"jsonrpc":"2.0","id":7,"result":{}}`+"\n" {
		t.Errorf("%q", got)
	}
	if code := r.exit(); code != 0 || time.Since(began) < waited {
		t.Error(code, time.Since(began))
	}
}

func TestALostConnection(t *testing.T) {
	url := stub(t, func(ctx context.Context, ws *websocket.Conn) { _, _, _ = ws.Read(ctx) })
	r := start(t, "PARLEY_URL="+url)
	r.send(`{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n")
	if code := r.exit(); code != bridge.ExitLost || !strings.Contains(r.stderr.String(), "lost") {
		t.Error(code, r.stderr)
	}
}

func TestExitCodes(t *testing.T) {
	url := service(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "ws://" + free.Addr().String()
	free.Close()
	for name, c := range map[string]struct {
		env  []string
		code int
		says string
	}{
		"nobody there":     {[]string{"PARLEY_URL=" + nobody}, 1, "no connection"},
		"not a WebSocket":  {[]string{"PARLEY_URL=" + url + "/healthz"}, 1, "answers 200"},
		"no address":       {nil, 2, "PARLEY_URL is missing"},
		"http":             {[]string{"PARLEY_URL=http://127.0.0.1:1"}, 2, "want ws://"},
		"a user":           {[]string{"PARLEY_URL=ws://u:p@127.0.0.1:1"}, 2, "credentials"},
		"a token in it":    {[]string{"PARLEY_URL=ws://127.0.0.1:1/?token=x"}, 2, "credentials"},
		"nonsense":         {[]string{"PARLEY_URL=://"}, 2, "no address"},
		"no token":         {[]string{"PARLEY_URL=" + url, "PARLEY_TOKEN="}, 2, "PARLEY_TOKEN is missing"},
		"a token of two":   {[]string{"PARLEY_URL=" + url, "PARLEY_TOKEN=a b"}, 2, "no token has"},
		"bad seconds":      {[]string{"PARLEY_URL=" + url, "PARLEY_IDLE_EXIT_SEC=soon"}, 2, "PARLEY_IDLE_EXIT_SEC"},
		"negative seconds": {[]string{"PARLEY_URL=" + url, "PARLEY_IDLE_EXIT_SEC=-1"}, 2, "PARLEY_IDLE_EXIT_SEC"},
		"the wrong token":  {[]string{"PARLEY_URL=" + url, "PARLEY_TOKEN=wrong-wrong-wrong"}, 3, "refused the token"},
	} {
		r := start(t, c.env...)
		if code := r.exit(); code != c.code || !strings.Contains(r.stderr.String(), c.says) || strings.Contains(r.stderr.String(), "wrong-wrong") {
			t.Errorf("%s: %d, %s", name, code, r.stderr)
		}
	}
}

func FuzzFromEnv(f *testing.F) {
	f.Add("ws://127.0.0.1:7360", "tok", "60")
	f.Add("wss://u:p@h/?token=x#y", "a b", "-1")
	f.Fuzz(func(t *testing.T, url, tok, idle string) {
		env := map[string]string{"PARLEY_URL": url, "PARLEY_TOKEN": tok, "PARLEY_IDLE_EXIT_SEC": idle}
		c, err := bridge.FromEnv(func(k string) string { return env[k] })
		if err != nil {
			if tok = strings.TrimSpace(tok); len(tok) > 12 && strings.Contains(err.Error(), tok) {
				t.Errorf("%q quotes the token", err)
			}
			return
		}
		if !strings.HasPrefix(c.URL, "ws://") && !strings.HasPrefix(c.URL, "wss://") || c.Token == "" || c.IdleExit < 0 {
			t.Errorf("%+v", c)
		}
	})
}
