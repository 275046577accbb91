package chromium

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser/display"
)

// Report is what Check found.
type Report struct {
	Version string        `json:"version"`
	Start   time.Duration `json:"start_ns"` // from the first process to the first answer
	Display string        `json:"display"`  // "" when headless
	Sandbox Sandbox       `json:"sandbox"`
}

// Sandbox is what the browser says about its own sandbox.
type Sandbox struct {
	Layer      string `json:"layer"` // "Namespace", "SUID", "None"
	PID        bool   `json:"pid_namespaces"`
	Network    bool   `json:"network_namespaces"`
	SeccompBPF bool   `json:"seccomp_bpf"`
	Adequate   bool   `json:"adequate"` // the browser's own verdict
}

// ErrSandboxWeak means that the browser starts, but calls its own sandbox inadequate.
var ErrSandboxWeak = errors.New("the browser says that its sandbox is not adequate; install the package chromium-sandbox or allow user namespaces")

// Check starts a browser as a meeting would, on a display of its own unless Headless, asks it about its sandbox and
// ends it. The report holds what was found even when there is an error.
func Check(ctx context.Context, o Options) (r Report, err error) {
	began := time.Now()
	if !o.Headless {
		d, err := display.Start(ctx, display.Options{Account: o.Account, Dir: o.Dir})
		if err != nil {
			return r, &StartError{Reason: NoDisplay, Err: err}
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		r.Display = d.Name()
		o.Env = append(append([]string{}, o.Env...), d.Env()...)
	}
	// The verdict is read from the page's words, so the interface speaks English here.
	o.Language = "en-US"
	b, err := Start(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	r.Version, r.Start = b.Version(), time.Since(began)
	if r.Sandbox, err = b.sandbox(ctx); err != nil {
		return r, err
	}
	if !r.Sandbox.Adequate && !o.NoSandbox {
		return r, ErrSandboxWeak
	}
	return r, nil
}

// sandbox reads the browser's own page about it.
func (b *Browser) sandbox(ctx context.Context) (Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	loaded := make(chan struct{}, 1)
	tab, err := b.OpenTab(ctx, func(e *cdp.Event) {
		if e.Method == (proto.PageLoadEventFired{}).ProtoEvent() {
			select {
			case loaded <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		return Sandbox{}, err
	}
	defer tab.Close(context.WithoutCancel(ctx))
	if err := (proto.PageEnable{}).Call(tab.With(ctx)); err != nil {
		return Sandbox{}, err
	}
	if _, err := (proto.PageNavigate{URL: "chrome://sandbox"}).Call(tab.With(ctx)); err != nil {
		return Sandbox{}, err
	}
	select {
	case <-loaded:
	case <-ctx.Done():
		return Sandbox{}, fmt.Errorf("chrome://sandbox: %w", context.Cause(ctx))
	}
	// The table is filled by a script: the verdict line comes last.
	const script = `new Promise(done => {
		const look = () => document.body && /sandboxed/i.test(document.body.innerText) ? done(document.body.innerText) : setTimeout(look, 50);
		look();
	})`
	got, err := proto.RuntimeEvaluate{Expression: script, AwaitPromise: true, ReturnByValue: true}.Call(tab.With(ctx))
	if err != nil {
		return Sandbox{}, fmt.Errorf("chrome://sandbox: %w", err)
	}
	return parseSandbox(got.Result.Value.Str()), nil
}

// parseSandbox reads the text of chrome://sandbox: lines of a name and a value, then a verdict.
func parseSandbox(text string) Sandbox {
	var s Sandbox
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "\t")
		value = strings.TrimSpace(value)
		yes := strings.EqualFold(value, "yes")
		switch {
		case strings.Contains(line, "adequately sandboxed"):
			s.Adequate = !strings.Contains(strings.ToLower(line), "not adequately")
		case !ok:
		case strings.HasPrefix(name, "Layer 1"):
			s.Layer = value
		case strings.HasPrefix(name, "PID namespaces"):
			s.PID = yes
		case strings.HasPrefix(name, "Network namespaces"):
			s.Network = yes
		case strings.HasPrefix(name, "Seccomp-BPF sandbox") && !strings.Contains(name, "TSYNC"):
			s.SeccompBPF = yes
		}
	}
	return s
}
