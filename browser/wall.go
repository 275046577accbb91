package browser

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Wall is a page that stands between us and what was asked for.
type Wall struct {
	Kind   string `json:"kind" doc:"challenge (a visible check whether a person is there), denied (access is refused) or reloading (a check that keeps reloading itself)."`
	Detail string `json:"detail" doc:"What was seen, and what can be tried."`
}

// The kinds of walls.
const (
	wallChallenge = "challenge"
	wallDenied    = "denied"
	wallReloading = "reloading"
)

// challengeFrames are parts of addresses of frames that challenges are shown in.
var challengeFrames = []struct{ part, name string }{
	{"challenges.cloudflare.com", "Cloudflare"}, {"/cdn-cgi/challenge-platform/", "Cloudflare"},
	{"hcaptcha.com", "hCaptcha"}, {"/recaptcha/", "reCAPTCHA"}, {"recaptcha.net", "reCAPTCHA"},
	{"arkoselabs.com", "Arkose"}, {"funcaptcha.com", "Arkose"}, {"geo.captcha-delivery.com", "DataDome"}, {"captcha.awswaf.com", "AWS WAF"},
	{"px-captcha", "PerimeterX"},
}

// reloadsOfAWall within reloadWindow make a check one that keeps reloading itself.
const (
	reloadsOfAWall = 3
	reloadWindow   = 60 * time.Second
)

// wallJS looks over a document for what a challenge or a refusal is made of. Only what is visible counts: many pages
// carry a check that nobody sees.
const wallJS = `() => {
	const seen = (el) => { const r = el.getBoundingClientRect(); return r.width >= 60 && r.height >= 40 && r.bottom > 0 && r.right > 0 && el.checkVisibility({ visibilityProperty: true, opacityProperty: true }); };
	const frames = [...document.querySelectorAll('iframe')].filter(seen).slice(0, 50).map((f) => f.src || '');
	const boxes = ['#challenge-form', '#challenge-running', '#challenge-stage', '#px-captcha', '.cf-turnstile', '.h-captcha', '.g-recaptcha:not([data-size=invisible])', '#cf-challenge-running'].filter((s) => [...document.querySelectorAll(s)].some(seen));
	const body = document.body ? document.body.innerText.slice(0, 3000) : '';
	return { frames, boxes, title: document.title.slice(0, 200), text: body, length: document.body ? document.body.innerText.length : 0 };
}`

// Words that stand on pages that refuse access, or check, in the languages that we know them in. They count only on a
// page that says little else.
var (
	deniedWords    = []string{"access denied", "you have been blocked", "access to this page has been denied", "request blocked", "error 1020", "zugriff verweigert", "accès refusé", "acceso denegado", "accesso negato", "acesso negado", "toegang geweigerd", "доступ запрещен", "访问被拒绝", "アクセスが拒否されました"}
	checkingTitles = []string{"just a moment", "attention required", "nur einen moment", "un instant", "un momento", "um momento", "even geduld", "请稍候", "しばらくお待ちください", "verify you are human", "are you a robot"}
)

// wall looks for a bot wall in what the tab shows.
func (p *Page) wall(ctx context.Context) *Wall {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	main, err := p.Main(ctx)
	if err != nil || !strings.HasPrefix(main.URL, "http") {
		return nil
	}
	var got struct {
		Frames []string `json:"frames"`
		Boxes  []string `json:"boxes"`
		Title  string   `json:"title"`
		Text   string   `json:"text"`
		Length int      `json:"length"`
	}
	if err := main.Run(ctx, nil, wallJS, nil, &got); err != nil {
		return nil
	}
	p.mu.Lock()
	status := p.nav.answered[p.nav.loader].Status
	reloads := 0
	for _, at := range p.nav.reloads {
		if time.Since(at) < reloadWindow {
			reloads++
		}
	}
	p.mu.Unlock()
	return judgeWall(got.Frames, got.Boxes, got.Title, got.Text, got.Length, status, reloads)
}

// judgeWall decides by what a page shows: addresses of its visible frames, visible boxes of challenges, title, the
// beginning of its text and that one's length, the server's answer, and how often the same address came lately.
func judgeWall(frames, boxes []string, title, text string, length, status, loads int) *Wall {
	title, text = strings.ToLower(title), strings.ToLower(text)
	name := ""
	for _, f := range frames {
		for _, c := range challengeFrames {
			if strings.Contains(f, c.part) {
				name = c.name
			}
		}
	}
	if name == "" && len(boxes) > 0 {
		name = boxes[0]
	}
	checking := length < 1500 && containsAny(title, checkingTitles)
	if name != "" || checking {
		if name == "" {
			name = "a page that checks the browser"
		}
		if loads >= reloadsOfAWall {
			return &Wall{wallReloading, "bot check keeps reloading (likely IP reputation); try engine chromium with a person at the live view, or another network"}
		}
		return &Wall{wallChallenge, fmt.Sprintf("a visible challenge (%s); ask a person to solve it, or use another way to the information", name)}
	}
	if length < 1500 && (status == 401 || status == 403 || status == 429 || status == 503 || status == 0 || status == 200) && containsAny(title+"\n"+text, deniedWords) {
		return &Wall{wallDenied, "the site refuses access; another network or a signed-in profile may help, trying again will not"}
	}
	return nil
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
