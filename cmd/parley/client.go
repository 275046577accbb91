package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/speech/local"
	"parley/tenant"
	"parley/tool"
)

// client is an MCP client of a service that runs as a process of its own, so that both can be measured apart.
type client struct {
	agent
	service *proc.Child
	engine  *local.Engine
	address string // of its MCP
}

// startClient starts a service in a folder and connects to it; more are further variables of its environment.
func startClient(ctx context.Context, data, models string, meetings int, more ...string) (_ *client, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := append(proc.BaseEnv(), "PARLEY_DATA="+data, "PARLEY_MODELS="+models, "PARLEY_LISTEN=127.0.0.1:0",
		"PARLEY_LOG_LEVEL=error", "PARLEY_MAX_MEETINGS="+strconv.Itoa(meetings), "PARLEY_CONFIG=/dev/null")
	env = append(env, more...)
	for _, k := range []string{"HOME", "TMPDIR", "PARLEY_ACCOUNT", "PARLEY_CHROMIUM", "PARLEY_CHROMIUM_SANDBOX"} {
		if v := os.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	child, err := spawn.Start(spawn.Service, proc.Spec{Name: "parley serve", Path: self, Args: []string{"serve"}, Env: env, Stdout: w, Stderr: os.Stderr}, spawn.Options{})
	_ = w.Close()
	if err != nil {
		return nil, err
	}
	c := &client{service: child}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	// Its first line names the address.
	first := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n') // empty when the service ended
		first <- line
	}()
	var address string
	select {
	case line := <-first:
		_, address, _ = strings.Cut(strings.TrimSpace(line), " serves MCP at ")
	case <-child.Done():
	case <-time.After(20 * time.Second):
	}
	if address == "" {
		return nil, fmt.Errorf("the service did not come up: %w", child.Err())
	}
	c.address = address
	token, err := tenant.ReadLocalToken(data)
	if err != nil {
		return nil, err
	}
	c.agent.client, err = sdk.NewClient(&sdk.Implementation{Name: "parley-bench", Version: version}, nil).
		Connect(ctx, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the service: %w", err)
	}
	c.engine = local.New(local.Options{RunDir: speechRunFor(models), ModelsDir: models})
	return c, nil
}

func (c *client) close() {
	if c.agent.client != nil {
		_ = c.agent.client.Close() // the service ends right behind it
	}
	if c.engine != nil {
		_ = c.engine.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), politeEnd+5*time.Second)
	defer cancel()
	if err := c.service.Stop(ctx, politeEnd); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// finals gives the segments as they stand now, and for each of the moments the time from it to the first final that
// came after it.
func (c *client) finals(ctx context.Context, id string, ends []time.Time) ([]float64, []tool.Line, error) {
	var at []time.Time
	if len(ends) > 0 {
		err := c.listen(ctx, id, 0, func(ev tool.Event) error {
			if ev.Line != nil && ev.Line.Final && ev.Line.Rev == 0 {
				at = append(at, ev.At)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	var lags []float64
	for i, end := range ends {
		for _, t := range at {
			if t.After(end) && (i+1 == len(ends) || t.Before(ends[i+1])) {
				lags = append(lags, t.Sub(end).Seconds())
				break
			}
		}
	}
	lines, err := (&demo{}).transcript(ctx, &c.agent, id)
	return lags, lines, err
}

// spent is what the processes below the service have used.
type spent struct {
	cpu time.Duration
	pss int64
}

// usage adds up the service's descendants: worker, browser, display, sound, encoder. The speech process, which a
// worker may have started for everybody, is not a meeting's.
func (c *client) usage() spent {
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return spent{}
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := proc.Parent(pid); err == nil {
			parents[pid] = p
		}
	}
	var u spent
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == c.service.PID() {
				if raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err != nil || strings.Contains(string(raw), local.BinaryName) {
					break
				}
				u.cpu += cpuOf(pid)
				u.pss += pssOf(pid)
				break
			}
		}
	}
	return u
}

// cpuOf is the processor time of a process, its reaped children included, in ticks of 10 ms.
func cpuOf(pid int) time.Duration {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	i := strings.LastIndexByte(string(raw), ')')
	f := strings.Fields(string(raw[i+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func pssOf(pid int) int64 { return kilobytes(pid, "smaps_rollup", "Pss:") }

func (c *client) serviceRSS() int64 { return kilobytes(c.service.PID(), "status", "VmRSS:") }

func kilobytes(pid int, file, field string) int64 {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// speechCPU is the processor time that the speech process has used so far: all of it, and for final text alone.
func (c *client) speechCPU() (all, finals time.Duration, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	st := c.engine.Status(ctx)
	// A draft is the final of a pause that turned out to be the end.
	return st.CPU, time.Duration(st.Spent.Drafts+st.Spent.Finals) * time.Millisecond, st.PID != 0
}
