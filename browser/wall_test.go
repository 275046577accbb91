package browser

import "testing"

func TestWallsAreToldByWhatIsVisible(t *testing.T) {
	for _, c := range []struct {
		name          string
		frames, boxes []string
		title, text   string
		length        int
		status, loads int
		want          string
	}{
		{name: "a shop", title: "Shop", text: "Buy tea", length: 5000, status: 200},
		{name: "an article about denied access", title: "Why access denied pages annoy", text: "Access denied is …", length: 9000, status: 200},
		{name: "a short page that refuses", title: "Access Denied", text: "You don't have permission", length: 200, status: 403, want: wallDenied},
		{name: "refused in German", text: "Zugriff verweigert", length: 100, status: 403, want: wallDenied},
		{name: "just long enough to be an article", text: "access denied", length: 1500, status: 403},
		{name: "not found is no wall", title: "Not found", text: "404", length: 20, status: 404},
		{name: "a visible Turnstile", frames: []string{"https://challenges.cloudflare.com/turnstile/x"}, length: 4000, status: 200, want: wallChallenge},
		{name: "a check by title", title: "Just a moment...", length: 80, status: 403, loads: 1, want: wallChallenge},
		{name: "the same, twice", title: "Just a moment...", length: 80, status: 403, loads: 2, want: wallChallenge},
		{name: "the same, again and again", title: "Just a moment...", length: 80, status: 403, loads: 3, want: wallReloading},
		{name: "a box of a challenge", boxes: []string{".h-captcha"}, length: 900, status: 200, want: wallChallenge},
	} {
		got := ""
		if w := judgeWall(c.frames, c.boxes, c.title, c.text, c.length, c.status, c.loads); w != nil {
			got = w.Kind
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
