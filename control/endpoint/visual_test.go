package endpoint_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"sync/atomic"
	"testing"

	"parley/control/client"
	"parley/control/connection"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/wire"
)

type reader struct {
	text  string
	whole bool
	err   error
	hook  func()
}

func (x *reader) Read(context.Context, []byte) (string, bool, error) {
	if x.hook != nil {
		x.hook()
	}
	return x.text, x.whole, x.err
}

func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const shown = "https://shop.example/"

// visual is a rig with a page in front that may be pictured.
func visual(t *testing.T) (*rig, string, *reader) {
	t.Helper()
	r := newRig(t)
	x := &reader{text: "hello", whole: true}
	r.desk.Reader = x
	r.publish(open())
	r.browser.Answers = acting()
	r.browser.Answers[tabs.Look] = map[string]any{"": m{"sensitive": 0, "revision": 0}}
	r.browser.Shots = map[string][]byte{shown: pngOf(t, 120, 80)}
	r.browser.Made = map[string]tabs.Structure{}
	return r, r.browser.Open(shown, "Shop"), x
}

type shotResult struct {
	MIME          string
	Width, Height int
	Data          string
}

func TestAPicture(t *testing.T) {
	r, id, _ := visual(t)
	for _, args := range []m{{}, {"sessionId": id}} {
		s := got[shotResult](r, "screenshot", args)
		raw, err := base64.StdEncoding.Strict().DecodeString(s.Data)
		if err != nil || s.MIME != "image/png" || s.Width != 120 || s.Height != 80 {
			t.Fatalf("%+v, %v", s, err)
		}
		if img, err := png.Decode(bytes.NewReader(raw)); err != nil || img.Bounds().Dx() != 120 {
			t.Errorf("%v", err)
		}
	}
	for _, bad := range []m{{"clip": m{}}, {"fullPage": true}, {"width": 10}, {"format": "jpeg"}, {"sessionId": 1}} {
		r.no(wire.CodeInvalid, "screenshot", bad)
	}
	// A picture that only just passes the bounds comes through the wire whole.
	big := noise(t)
	r.browser.Shots[shown] = big
	s := got[shotResult](r, "screenshot", nil)
	if raw, err := base64.StdEncoding.DecodeString(s.Data); err != nil || len(raw) < 1900<<10 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := json.Marshal(r.records)
	if err != nil || bytes.Contains(all, []byte(s.Data[:40])) || bytes.Contains(all, []byte("hello")) {
		t.Errorf("the audit holds the picture or its words: %v", err)
	}
}

// noise is a picture of nearly two MiB.
func noise(t testing.TB) []byte {
	img := image.NewGray(image.Rect(0, 0, 1600, 1280))
	x := uint32(1)
	for i := range img.Pix {
		x = x*1664525 + 1013904223
		img.Pix[i] = byte(x >> 24)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWhatIsNotPictured: each alone is enough.
func TestWhatIsNotPictured(t *testing.T) {
	for what, change := range map[string]func(r *rig, id string, x *reader){
		"in the background": func(r *rig, _ string, _ *reader) { r.browser.Open("https://other.example/", "") },
		"loading":           func(r *rig, id string, _ *reader) { r.browser.Change(id, func(t *tabs.Tab) { t.Loading = true }) },
		"covered":           func(r *rig, id string, _ *reader) { r.browser.Change(id, func(t *tabs.Tab) { t.Covered = true }) },
		"over http": func(r *rig, id string, _ *reader) {
			r.browser.Change(id, func(t *tabs.Tab) { t.URL = "http://shop.example/" })
		},
		"a start page":          func(r *rig, id string, _ *reader) { r.browser.Change(id, func(t *tabs.Tab) { t.URL = "about:blank" }) },
		"a child frame":         func(r *rig, _ string, _ *reader) { r.browser.Made[shown] = tabs.Structure{Frames: 1} },
		"a closed root":         func(r *rig, _ string, _ *reader) { r.browser.Made[shown] = tabs.Structure{Closed: 1} },
		"a declarative root":    func(r *rig, _ string, _ *reader) { r.browser.Made[shown] = tabs.Structure{Declarative: 1} },
		"a password field":      func(r *rig, _ string, _ *reader) { r.browser.Answers[tabs.Look][""] = m{"sensitive": 1} },
		"a change meanwhile":    func(r *rig, _ string, _ *reader) { r.browser.Answers[tabs.Look][""] = m{"sensitive": 0, "revision": 2} },
		"another document":      func(r *rig, _ string, _ *reader) { r.browser.Answers[tabs.Look][""] = m{"moved": true} },
		"too wide":              func(r *rig, _ string, _ *reader) { r.browser.Shots[shown] = pngOf(r.t, 4097, 1) },
		"no picture":            func(r *rig, _ string, _ *reader) { r.browser.Shots[shown] = []byte("GIF89a") },
		"no reader":             func(r *rig, _ string, _ *reader) { r.desk.Reader = nil },
		"a reader that fails":   func(_ *rig, _ string, x *reader) { x.err = errors.New("x") },
		"read in part":          func(_ *rig, _ string, x *reader) { x.whole = false },
		"a password is visible": func(_ *rig, _ string, x *reader) { x.text = "password:\nhunter2-horse" },
		"an account is visible": func(r *rig, _ string, x *reader) {
			r.publish(open(func(p *publish.Policy) { p.SensitiveRead = true })) // no permission for reading is one for this
			x.text = "DE89 3704 0044 0532 0130 00"
		},
	} {
		r, id, x := visual(t)
		change(r, id, x)
		args := m{"sessionId": id}
		if reply := r.do("screenshot", args); reply.OK() || reply.Result != nil {
			t.Errorf("%s: %.60s", what, reply.Result)
		}
	}
	// And without the scope, in the policy or in the grant.
	r, _, _ := visual(t)
	g := builder(1, func(g *grant.Grant) { g.Scopes = []grant.Scope{"read"} })
	r.publish(granted(g))
	r.must(r.issue(g), wire.CodeDenied, "screenshot", nil)
	g = builder(2)
	p := granted(g)
	p.Scopes = grant.DefaultScopes()
	r.publish(p)
	r.must(r.issue(g), wire.CodeDenied, "screenshot", nil)
}

// TestAPictureIsGuardedToTheLast: a change at any step, also after the picture was read and while the answer is sealed.
func TestAPictureIsGuardedToTheLast(t *testing.T) {
	changes := map[string]func(r *rig, id string){
		"policy":        func(r *rig, _ string) { r.publish(open()) },
		"document":      func(r *rig, id string) { r.browser.Again(id) },
		"away and back": func(r *rig, id string) { r.browser.Front(r.browser.Open("about:blank", "")); r.browser.Front(id) },
		"loading":       func(r *rig, id string) { r.browser.Change(id, func(t *tabs.Tab) { t.Loading = true }) },
		"closed":        func(r *rig, id string) { r.browser.Drop(id) },
		"revoked":       func(r *rig, _ string) { r.e.Revoke() },
	}
	for what, change := range changes {
		for at, n := 1, 99; at < n; at++ {
			r, id, _ := visual(t)
			c := r.client(connection.Name)
			var steps atomic.Int64 // a call that was cut off can still be on its way when we are answered
			r.browser.Hook = func(string, string) {
				if steps.Add(1) == int64(at) {
					change(r, id)
				}
			}
			reply, err := r.try(c, "screenshot", nil)
			if step := int(steps.Load()); step < at {
				if !reply.OK() || at < 15 {
					t.Errorf("%s: only %d steps, %+v, %v", what, step, reply.Code, err)
				}
				break
			}
			if err == nil && reply.OK() && at > 1 || err != nil && !errors.Is(err, client.ErrNoReply) || reply.Result != nil && at > 1 {
				t.Errorf("%s at step %d: %q, %v", what, at, reply.Code, err)
			}
			if testing.Short() {
				at += 3
			}
		}
	}
	// While it is read, no call of the browser is under way.
	r, id, x := visual(t)
	x.hook = func() { r.browser.Again(id) }
	r.no(wire.CodeConflict, "screenshot", nil)
}

func TestThePhasesOfAPicture(t *testing.T) {
	seen := map[span.Name]bool{}
	spans := new(span.Recorder)
	spans.Switch(true)
	spans.To(func(s span.Span) { seen[s.Name] = true })
	r := newRig(t, func(r *rig) { r.opt.Spans = spans; r.desk.Reader = &reader{whole: true} })
	r.publish(open())
	r.browser.Answers = map[tabs.Script]map[string]any{tabs.Look: {"": m{}}}
	r.browser.Shots = map[string][]byte{shown: pngOf(t, 4, 4)}
	r.browser.Open(shown, "")
	r.no("", "screenshot", nil)
	for _, n := range []span.Name{span.Request, span.Challenge, span.Decrypt, span.Authorise, span.Audit, span.Dispatch, span.ShotCapture, span.ShotBound, span.ShotInspect, span.Projection, span.Encryption, span.ShotRelease} {
		if !seen[n] {
			t.Errorf("no span %s", n)
		}
	}
}
