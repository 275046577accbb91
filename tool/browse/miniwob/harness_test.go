//go:build accept

package miniwob

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/browser/browsertest"
	"parley/guard/fence"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
)

// pages serves the tasks out of the package.
func pages(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "parley", "miniwob")
	if out, err := exec.Command("./fetch.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("fetch MiniWoB++: %v\n%s", err, out)
	}
	z, err := zip.OpenReader(filepath.Join(dir, "miniwob-1.1.0-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	srv := httptest.NewServer(http.FileServerFS(z))
	t.Cleanup(srv.Close)
	return srv.URL + "/miniwob/html/miniwob/"
}

// bench is one session with a page that shows a task.
type bench struct {
	t       *testing.T
	tools   *tool.Service
	by      tool.Caller
	session string
	at      string // where the tasks are
}

func newBench(t *testing.T) *bench {
	t.Helper()
	m := browsertest.Manager(t, nil)
	tools, err := tool.NewService(tool.Options{Tools: browse.Tools(m), Fence: fence.Fence{}, Limits: tool.Limits{PerMinute: 1e6, Burst: 1e6}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close(context.Background()) })
	b := &bench{t: t, tools: tools, by: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full}}, Owner: "miniwob"}, at: pages(t)}
	a := b.call("session_open", args{})
	b.session = str(a, "session")
	return b
}

type args map[string]any

// gaveUp is what a solver panics with when a tool says no: it ends the task.
type gaveUp struct{ why string }

func (b *bench) try(name string, a args) tool.Answer {
	if b.session != "" {
		a["session"] = b.session
	}
	raw, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return b.tools.Invoke(ctx, tool.Call{Tool: name, Args: raw, Caller: b.by})
}

func (b *bench) call(name string, a args) tool.Answer {
	got := b.try(name, a)
	if got.Err != nil {
		panic(gaveUp{name + ": " + got.Err.Error() + " " + got.Err.Quoted})
	}
	return got
}

func member[T any](a tool.Answer, name string) (v T) {
	var m map[string]json.RawMessage
	if json.Unmarshal(a.Structured, &m) == nil {
		_ = json.Unmarshal(m[name], &v)
	}
	return v
}

func str(a tool.Answer, name string) string { return member[string](a, name) }

// What solvers do, each a call of a tool.

func sel(s string) args        { return args{"selector": s} }
func text(s string) args       { return args{"text": s} }
func role(r, name string) args { return with(args{"role": r}, "name", name) }
func with(a args, k string, v any) args {
	if v != "" {
		a[k] = v
	}
	return a
}

// read gives the text that part of the page shows; empty reads everything.
func (b *bench) read(selector string) string {
	a := args{}
	if selector != "" {
		a["selector"] = selector
	}
	return str(b.call("read", a), "text")
}

func (b *bench) click(a args)              { b.call("click", a) }
func (b *bench) clicks(selector string)    { b.call("click", sel(selector)) }
func (b *bench) typeIn(selector, v string) { b.call("type", args{"selector": selector, "value": v}) }
func (b *bench) choose(selector, o string) { b.call("select", args{"selector": selector, "option": o}) }
func (b *bench) press(key string)          { b.call("press", args{"key": key}) }
func (b *bench) clickAt(s string, x, y float64) {
	b.call("click", args{"selector": s, "at": []float64{x, y}})
}
func (b *bench) drag(from, to string) { b.call("drag", args{"selector": from, "to": to}) }
func (b *bench) dragBy(from string, x, y float64) {
	b.call("drag", args{"selector": from, "by": []float64{x, y}})
}

// has tells whether something visible matches now.
func (b *bench) has(selector string) bool {
	return b.try("wait_for", args{"selector": selector, "timeoutMs": 1}).Err == nil
}

// wait waits until something visible matches.
func (b *bench) wait(selector string) {
	b.call("wait_for", args{"selector": selector, "timeoutMs": 5000})
}

// count counts visible matches, up to max.
func (b *bench) count(selector string, max int) int {
	n := 0
	for n < max && b.try("wait_for", args{"selector": selector, "nth": n, "timeoutMs": 1}).Err == nil {
		n++
	}
	return n
}

// picture is what an element looks like.
func (b *bench) picture(selector string) image.Image {
	got := b.call("screenshot", args{"selector": selector, "format": "png"})
	for _, c := range got.Images {
		img, err := png.Decode(bytes.NewReader(c.Data))
		if dir := os.Getenv("MINIWOB_PICTURES"); dir != "" {
			_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(int(time.Now().UnixNano()))+".png"), c.Data, 0o644)
		}
		if err == nil {
			return img
		}
	}
	panic(gaveUp{"no picture"})
}

// query is what the task asks for.
func (b *bench) query() string { return squash(b.read("#query")) }

// lines are the texts that a part of the page shows, without roles and refs.
func (b *bench) lines(selector string) []string {
	var out []string
	for _, l := range strings.Split(b.read(selector), "\n") {
		if p := squash(l); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func squash(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	refMark = regexp.MustCompile(`\be\d+ [a-z]+`)
	quoted  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	numeral = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
)

// named gives the names of what has a ref in a read.
func named(s string) (list []string) {
	for l := range strings.Lines(s) {
		for _, part := range refMark.Split(l, -1)[1:] {
			name, _, _ := strings.Cut(strings.TrimSpace(part), " | ")
			if m := quoted.FindStringSubmatch(name); m != nil && strings.HasPrefix(name, `"`) {
				name = m[1]
			}
			list = append(list, name)
		}
	}
	return list
}

// num is the first number in a text.
func num(s string) int {
	n, _ := strconv.Atoi(numeral.FindString(s))
	return n
}

// in gives the groups of a pattern, or gives up.
func in(s, pattern string) []string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(s)
	if m == nil {
		panic(gaveUp{fmt.Sprintf("%q does not match %q", s, pattern)})
	}
	return m[1:]
}

// begin shows a task and starts it.
func (b *bench) begin(task string) {
	b.call("navigate", args{"url": b.at + task + ".html"})
	b.call("click", sel("#sync-task-cover"))
}

// reward is what the page gave for the last try; ok is false while the task still runs.
func (b *bench) reward() (r float64, ok bool) {
	if b.try("wait_for", args{"selector": "#sync-task-cover", "timeoutMs": 3000}).Err != nil {
		return 0, false
	}
	r, err := strconv.ParseFloat(numeral.FindString(b.read("#reward-last")), 64)
	return r, err == nil
}

// attempt tries a task once and says why it failed; empty means solved.
func (b *bench) attempt(task string, solve func(*bench)) (why string) {
	defer func() {
		if x := recover(); x != nil {
			why = fmt.Sprint(x) // a solver that met what it does not know
			if g, ok := x.(gaveUp); ok {
				why = g.why
			}
			if r, ok := b.reward(); ok && r > 0 {
				why = ""
			}
		}
	}()
	b.begin(task)
	solve(b)
	r, ok := b.reward()
	switch {
	case !ok:
		return "the page gave no reward"
	case r <= 0:
		return fmt.Sprintf("reward %v", r)
	}
	return ""
}

func tasks(t *testing.T, b *bench) []string {
	t.Helper()
	r, err := http.Get(b.at)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`href="([a-z0-9-]+)\.html"`).FindAllStringSubmatch(string(raw), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestShow prints what a read of each task shows, for whoever writes solvers.
func TestShow(t *testing.T) {
	which := os.Getenv("MINIWOB_SHOW")
	if which == "" {
		t.Skip("set MINIWOB_SHOW to a pattern of tasks")
	}
	b := newBench(t)
	for _, task := range tasks(t, b) {
		if !regexp.MustCompile(which).MatchString(task) {
			continue
		}
		func() {
			defer func() {
				if x := recover(); x != nil {
					fmt.Printf("== %s: %v\n", task, x)
				}
			}()
			b.begin(task)
			fmt.Printf("== %s\n%s\n", task, b.read("#wrap"))
		}()
	}
}
