package browse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/tool"
)

var refInRead = regexp.MustCompile(`(e[0-9]+) (?:link|button) `)

// A snapshot that is not sent is not made either (25): the elements that came and went with acts have used up no refs.
func TestAnActWithoutChangesMakesNoSnapshot(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<button onclick="again()">Again</button><script>const again = () => { document.body.innerHTML = '<button onclick="again()">Again</button>' }</script>`})
	c := newClient(t, nil)
	c.open(at)
	first := func() string {
		t.Helper()
		m := refInRead.FindStringSubmatch(c.must("read", nil).Text)
		if m == nil {
			t.Fatal("no button")
		}
		return m[1]
	}
	for range 3 {
		c.must("click", map[string]any{"text": "Again"})
	}
	if got := first(); got != "e1" {
		t.Errorf("the first read's first ref is %s: something was read before", got)
	}
	c.must("click", map[string]any{"text": "Again", "changes": true})
	if got := first(); got == "e1" || got == "e2" && strings.Contains(c.must("read", nil).Text, "e1 ") {
		t.Errorf("a new element has an old ref: %s", got)
	}
}

// After going back every ref is dead for good (35): those of a new read are those of the page that shows, and work.
func TestAfterGoingBackTheRefsOfANewReadWork(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<title>First</title><a href=/second>Go</a>`, "/second": `<title>Second</title><a href=/>Other</a>`})
	c := newClient(t, nil)
	c.open(at)
	for range 3 {
		ref := refInRead.FindStringSubmatch(c.must("read", nil).Text)[1]
		if a := c.must("click", map[string]any{"ref": ref}); !strings.Contains(a.Text, "Second") {
			t.Fatalf("the click by %s led to %s", ref, a.Text)
		}
		if a := c.must("back", nil); !strings.Contains(a.Text, "First") {
			t.Fatalf("back: %s", a.Text)
		}
	}
}

// Told that a profile is in use, an agent tries again for ever (41): the answer is final, names who has it, and says so.
func TestAProfileInUseIsAFinalAnswer(t *testing.T) {
	dir, err := os.MkdirTemp("", "pp-") // short, and the browser's account can enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	profiles := filepath.Join(dir, "profiles")
	c := newClient(t, func(o *browser.Options) { o.Profiles = profiles })
	s := field[string](t, c.must("session_open", map[string]any{"profile": "shop"}), "session")
	for range 2 {
		a := c.call("session_open", map[string]any{"profile": "shop"})
		if a.Err == nil || a.Err.Code != tool.CodeProfileInUse || !strings.Contains(a.Text, "this does not go away by trying") {
			t.Fatalf("a second session of a profile: %s", a.Text)
		}
	}
	c.must("session_close", map[string]any{"session": s})
	c.must("session_open", map[string]any{"profile": "shop"})
	c.must("session_close", nil)
}
