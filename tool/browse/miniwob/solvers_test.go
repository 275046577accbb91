//go:build accept

package miniwob

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// solvers read what a task asks for and do it, with the tools alone.
var solvers = map[string]func(*bench){}

func solve(f func(*bench), names ...string) {
	for _, n := range names {
		if solvers[n] != nil {
			panic("two solvers for " + n)
		}
		solvers[n] = f
	}
}

// quotedIn gives the texts in quotes.
func quotedIn(s string) (list []string) {
	for _, m := range quoted.FindAllStringSubmatch(s, -1) {
		list = append(list, m[1])
	}
	return list
}

func button(name string) string { return fmt.Sprintf("#area >> role=button[name=%q]", name) }

// exact is an element of a kind that says exactly this.
func exact(kind, s string) string { return fmt.Sprintf("%s:text-is(%q)", kind, s) }

func submit(b *bench) { b.click(role("button", "submit")) }

// nth reads 1st, 12th … as a place from 0.
func nth(s string) int { return num(s) - 1 }

func init() {
	solve(func(b *bench) { b.clicks(button(quotedIn(b.query())[0])) }, "click-button", "unicode-test")
	solve(func(b *bench) { b.click(role("button", "")) }, "click-test")
	solve(func(b *bench) { b.click(role("button", "ONE")) }, "click-test-2", "click-test-transfer")
	solve(func(b *bench) { b.click(role("button", "ONE")); b.click(role("button", "TWO")) }, "click-button-sequence")
	solve(func(b *bench) {
		wait := num(b.query())
		b.click(role("button", "ONE"))
		time.Sleep(time.Duration(wait)*time.Second + 150*time.Millisecond)
		b.click(role("button", "TWO"))
	}, "button-delay")
	solve(func(b *bench) { b.clicks(exact("#area span", quotedIn(b.query())[0])) }, "click-link")
	solve(func(b *bench) { b.clicks(exact("#area a", in(b.query(), `on (Tab #\d+)`)[0])) }, "click-tab")
	solve(func(b *bench) {
		link := exact("#area span", quotedIn(b.query())[0])
		for i := range 6 {
			b.click(args{"selector": "#area a[href]", "nth": i})
			if b.has(link) {
				b.clicks(link)
				return
			}
		}
	}, "click-tab-2", "click-tab-2-easy", "click-tab-2-medium", "click-tab-2-hard")
	solve(func(b *bench) {
		b.clicks("#area h3")
		b.clicks("#subbtn")
	}, "click-collapsible", "click-collapsible-nodelay")
	solve(func(b *bench) {
		link := exact("#area span.alink", quotedIn(b.query())[0])
		for i := range 8 {
			b.click(args{"selector": "#area h3", "nth": i})
			if b.try("wait_for", args{"selector": link, "timeoutMs": 450}).Err == nil {
				b.clicks(link)
				return
			}
		}
	}, "click-collapsible-2", "click-collapsible-2-nodelay")
	solve(func(b *bench) { b.clicks(".ui-dialog-titlebar-close") }, "click-dialog")
	solve(func(b *bench) {
		if name := quotedIn(b.query())[0]; name == "x" {
			b.clicks(".ui-dialog-titlebar-close")
		} else {
			b.clicks(exact(".ui-dialog-buttonset button", name))
		}
	}, "click-dialog-2")
	solve(func(b *bench) {
		b.clicks(fmt.Sprintf("role=radio[name=%q]", in(b.query(), `Select (.+) and click`)[0]))
		submit(b)
	}, "click-option")
	solve(func(b *bench) {
		if what := in(b.query(), `Select (.+) and click`)[0]; what != "nothing" {
			for _, name := range strings.Split(what, ", ") {
				b.clicks(fmt.Sprintf("role=checkbox[name=%q]", name))
			}
		}
		submit(b)
	}, "click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer")
	solve(func(b *bench) {
		for _, word := range strings.Split(in(b.query(), `similar to (.+) and click`)[0], ", ") {
			for _, group := range synonyms {
				words := strings.Fields(group)
				if !slices.Contains(words, word) {
					continue
				}
				for _, w := range words {
					if box := fmt.Sprintf("role=checkbox[name=%q]", w); b.has(box) {
						b.clicks(box)
						break
					}
				}
			}
		}
		submit(b)
	}, "click-checkboxes-soft")
	solve(func(b *bench) {
		b.choose("#area select", in(b.query(), `Select (.+) from the list`)[0])
		submit(b)
	}, "choose-list")
	solve(func(b *bench) {
		b.call("select", args{"selector": "#area select", "options": strings.Split(in(b.query(), `Select (.+) from the scroll list`)[0], ", ")})
		submit(b)
	}, "click-scroll-list")
	solve(func(b *bench) {
		b.clicks(map[string]string{"button": "#area button", "text": "#area input[type=text]", "textarea": "#area textarea", "radio": "#area input[type=radio]", "checkbox": "#area input[type=checkbox]"}[quotedIn(b.query())[0]])
	}, "click-widget")
	solve(func(b *bench) {
		for _, c := range []string{"red", "blue", "olive", "lime", "black", "white", "grey", "purple", "orange", "yellow", "cyan", "pink", "magenta"} {
			if b.has("#query .bold:text-is('"+c+"')") || b.has("#query-color[style*='"+c+"']") {
				b.clicks("#area .color[style*='" + c + "']")
				return
			}
		}
	}, "click-color")

	solve(func(b *bench) { b.typeIn("#tt", quotedIn(b.query())[0]); submit(b) }, "enter-text", "enter-text-dynamic")
	solve(func(b *bench) {
		q := b.query()
		word := strings.ToLower(quotedIn(q)[0])
		if strings.Contains(q, "upper case") {
			word = strings.ToUpper(word)
		}
		b.typeIn("#tt", word)
		submit(b)
	}, "enter-text-2")
	solve(func(b *bench) {
		for _, l := range b.lines("#area") {
			if !strings.HasPrefix(l, "textbox") {
				b.typeIn("#tt", l)
				break
			}
		}
		submit(b)
	}, "text-transform")
	solve(func(b *bench) { b.clicks("#tt") }, "focus-text")
	solve(func(b *bench) { b.click(args{"selector": "#area input", "nth": nth(b.query())}) }, "focus-text-2")
	solve(func(b *bench) {
		b.typeIn("#password", quotedIn(b.query())[0])
		b.typeIn("#verify", quotedIn(b.query())[0])
		submit(b)
	}, "enter-password")
	login := func(b *bench) {
		q := quotedIn(b.query())
		popup := func() {
			for _, s := range []string{"#popup-cancel", "#popup button >> nth=-1"} {
				if b.has(s) {
					b.clicks(s)
					return
				}
			}
		}
		for i, s := range []string{"#username", "#password"} {
			if b.try("type", args{"selector": s, "value": q[i]}).Err != nil {
				popup()
				b.typeIn(s, q[i])
			}
		}
		if b.has("#popup") {
			popup()
			b.typeIn("#username", q[0])
			b.typeIn("#password", q[1])
		}
		b.clicks("#subbtn")
	}
	solve(login, "login-user", "login-user-popup")
	solve(func(b *bench) { b.typeIn("#tt", in(b.query(), `Enter (\S+) as`)[0]); submit(b) }, "enter-date")
	solve(func(b *bench) { b.typeIn("#tt", in(b.query(), `Enter (.+) as`)[0]); submit(b) }, "enter-time")
	solve(func(b *bench) {
		words := regexp.MustCompile(`[A-Za-z]+`).FindAllString(b.read("#area p"), -1)
		b.typeIn("#answer-input", words[nth(b.query())])
		submit(b)
	}, "find-word")

	copyText := func(b *bench, from string) {
		b.clicks(from)
		b.press("Control+a Control+c")
		b.clicks("#answer-input")
		b.press("Control+v")
		submit(b)
	}
	solve(func(b *bench) { copyText(b, "#to-copy") }, "copy-paste")
	solve(func(b *bench) { copyText(b, fmt.Sprintf("#text-%d", num(b.query()))) }, "copy-paste-2")
	solve(func(b *bench) {
		b.clicks("#text-area")
		b.press("Control+End Shift+Home Control+c") // the last line that shows
		b.clicks("#answer-input")
		b.press("Control+v")
		words := regexp.MustCompile(`[A-Za-z]+`).FindAllString(in(b.read("#answer-input"), `= "(.*)"`)[0], -1)
		b.typeIn("#answer-input", words[len(words)-1])
		submit(b)
	}, "scroll-text")
	solve(func(b *bench) {
		to := "bottom"
		if strings.Contains(b.query(), "to the top") {
			to = "top"
		}
		b.call("scroll", args{"selector": "#text-area", "to": to})
		submit(b)
	}, "scroll-text-2")

	table := func(b *bench) map[string]string {
		cells := map[string]string{}
		for _, l := range strings.Split(b.read("#area table"), "\n") {
			if p := strings.Split(l, "|"); len(p) == 3 {
				cells[squash(p[1])] = squash(p[2])
			}
		}
		return cells
	}
	solve(func(b *bench) {
		b.typeIn("#tt", table(b)[in(b.query(), `value of (.+) into`)[0]])
		submit(b)
	}, "read-table")
	solve(func(b *bench) {
		cells, i := table(b), 0
		for _, l := range b.lines("#area") {
			if label, ok := strings.CutSuffix(l, ":"); ok {
				i++
				b.typeIn(fmt.Sprintf("#tt%d", i), cells[label])
			}
		}
		submit(b)
	}, "read-table-2")
	solve(func(b *bench) {
		m := in(b.read("#area"), `(-?\d+)\s*([-+*x×])\s*(-?\d+)\s*=`)
		x, y := num(m[0]), num(m[2])
		r := map[string]int{"+": x + y, "-": x - y, "*": x * y, "x": x * y, "×": x * y}[m[1]]
		b.typeIn("#math-answer", strconv.Itoa(r))
		submit(b)
	}, "simple-arithmetic")
	solve(func(b *bench) {
		m := in(b.read("#area"), `(x|-?\d+)\s*([-+])\s*(x|-?\d+)\s*=\s*(-?\d+)`)
		left, right, sum := num(m[0]), num(m[2]), num(m[3])
		r := 0
		switch {
		case m[0] == "x" && m[1] == "+":
			r = sum - right
		case m[0] == "x":
			r = sum + right
		case m[1] == "+":
			r = sum - left
		default:
			r = left - sum
		}
		b.typeIn("#math-answer", strconv.Itoa(r))
		submit(b)
	}, "simple-algebra")
	solve(func(b *bench) {
		b.typeIn("#math-answer", strconv.Itoa(b.count(".addition-block", 21)))
		submit(b)
	}, "visual-addition")
	solve(func(b *bench) {
		i := 0
		for _, l := range b.lines("#area") {
			if n, err := strconv.Atoi(l); err == nil {
				b.click(args{"role": "button", "name": map[bool]string{true: "Even", false: "Odd"}[n%2 == 0], "nth": i})
				i++
			}
		}
		submit(b)
	}, "odd-or-even")
	solve(func(b *bench) {
		low, high := 0, 9
		for range 6 {
			guess := (low + high) / 2
			b.typeIn("#tt", strconv.Itoa(guess))
			submit(b)
			switch said := b.read("#area"); {
			case strings.Contains(said, "lower than"):
				high = guess - 1
			case strings.Contains(said, "higher than"):
				low = guess + 1
			default:
				return
			}
		}
	}, "guess-number")
	solve(func(b *bench) {
		want := b.query()
		for range 40 {
			b.clicks("#generate")
			n := num(b.read("#display-number"))
			ok := strings.Contains(want, "odd") && n%2 != 0 || strings.Contains(want, "even") && n%2 == 0
			if m := regexp.MustCompile(`(less|greater) than (-?\d+)`).FindStringSubmatch(want); m != nil {
				ok = m[1] == "less" && n < num(m[2]) || m[1] == "greater" && n > num(m[2])
			}
			if ok {
				submit(b)
				return
			}
		}
	}, "generate-number")
	solve(func(b *bench) {
		best, at := -1, 0
		for i, q := range append(quotedIn(b.read("#cardholder")), named(b.read("#cardholder"))...) {
			if n := num(q); n > best {
				best, at = n, i
			}
		}
		b.click(args{"selector": "#cardholder .card", "nth": at})
		submit(b)
	}, "find-greatest")
	// jQuery's sliders have no role: their handle takes arrow keys.
	slide := func(b *bench, slider, shows string, want int) {
		for range 12 {
			now := num(b.read(shows))
			if now == want {
				return
			}
			key := "Right"
			if now > want {
				key = "Left"
			}
			b.call("press", args{"selector": slider + " .ui-slider-handle", "key": key, "times": max(now-want, want-now)})
		}
	}
	solve(func(b *bench) { slide(b, "#slider", "#val", num(b.query())); submit(b) }, "use-slider")
	solve(func(b *bench) {
		want := in(b.query(), `\[(-?\d+),(-?\d+),(-?\d+)\]`)
		for i, w := range want {
			slide(b, fmt.Sprintf("#slider-%d", i+1), fmt.Sprintf("#val-%d", i+1), num(w))
		}
		submit(b)
	}, "use-slider-2")
	solve(func(b *bench) {
		q := b.query()
		slide(b, "#slider", "#val", num(q))
		b.clicks(fmt.Sprintf("#checkbox-%s", in(q, `the (\d)\w\w checkbox`)[0]))
		submit(b)
	}, "form-sequence")
	solve(func(b *bench) {
		m := in(b.query(), `the (\d)\w\w radio button and enter the number "(-?\d+)" into the (\d)\w\w`)
		b.click(args{"selector": "#area input[type=radio]", "nth": num(m[0]) - 1})
		b.typeIn("#input-"+m[2], m[1])
		submit(b)
	}, "form-sequence-2")
	solve(func(b *bench) {
		m := in(b.query(), `Choose (.+) from the dropdown, then click the button labeled "(\w+)"`)
		b.call("select", args{"selector": "#dropdown", "option": m[0]})
		b.clicks(exact("#area button", m[1]))
	}, "form-sequence-3")
	solve(func(b *bench) {
		for range 6 {
			want, now := num(b.query()), num(in(b.read("#area"), `= "(-?\d+)"`)[0])
			if now == want {
				break
			}
			key := "Up"
			if now > want {
				key = "Down"
			}
			b.call("press", args{"selector": "#spinner", "key": key, "times": max(now-want, want-now)})
		}
		submit(b)
	}, "use-spinner")
	solve(func(b *bench) {
		q := quotedIn(b.query())
		b.typeIn("#tags", q[0])
		b.wait(".ui-autocomplete li")
		for i, l := range b.lines(".ui-autocomplete") {
			name := strings.TrimLeft(l, "- ")
			if m := named(l); len(m) > 0 {
				name = m[0]
			}
			if len(q) == 1 || strings.HasSuffix(name, q[1]) {
				b.click(args{"selector": ".ui-autocomplete li", "nth": i})
				break
			}
		}
		submit(b)
	}, "use-autocomplete", "use-autocomplete-nodelay")
	solve(func(b *bench) {
		m := in(b.query(), `for (.+) movies directed by (.+) from year (\d+)`)
		for i, label := range []string{"Genre", "Director", "Year"} {
			if row := fmt.Sprintf("#area tr:has(th:text-is(%q)) input", label); b.has(row) {
				b.typeIn(row, m[i])
			} else {
				b.typeIn(fmt.Sprintf("xpath=//*[@id='area']//*[starts-with(normalize-space(text()), '%s')]/following::input[1]", label), m[i])
			}
		}
		if b.has("#area button") {
			b.clicks("#area button")
		} else {
			b.clicks("#area >> text=/^(Submit|Search|Go)!?$/")
		}
	}, "multi-layouts", "multi-orderings")
	solve(func(b *bench) {
		q := quotedIn(b.query())[0]
		b.typeIn("#search-text", q)
		b.clicks("#search")
		at := nth(in(b.query(), `the (\d+)\w\w search result`)[0])
		for range at / 3 {
			b.clicks("#pagination li.next a, #pagination .page-item.next a")
		}
		b.click(args{"selector": "#page-content a", "nth": at % 3})
	}, "search-engine")
	solve(func(b *bench) {
		m := in(b.query(), `Find (\S+) in the contact book and click on their (.+)\.`)
		for range 12 {
			if b.has("#area h2:text-is('"+m[0]+"')") || strings.Contains(b.read("#contact"), m[0]) {
				b.clicks("#contact ." + map[string]string{"phone number": "phone", "email": "email", "address": "address"}[m[1]] + " a, #contact ." + map[string]string{"phone number": "phone", "email": "email", "address": "address"}[m[1]])
				return
			}
			b.clicks("#pagination a:text-is('>')")
		}
	}, "phone-book")
	solve(func(b *bench) {
		name := quotedIn(b.query())[0]
		for range 30 {
			if leaf := exact("#area span, #area div, #area li, #area a", name); b.has(fmt.Sprintf("#area >> text=%q", name)) {
				_ = leaf
				b.clicks(fmt.Sprintf("#area >> text=%q", name))
				return
			}
			b.clicks(".expandable-hitarea")
		}
	}, "navigate-tree")

	for _, t := range []string{"email-inbox", "email-inbox-delete", "email-inbox-forward", "email-inbox-forward-nl", "email-inbox-forward-nl-turk", "email-inbox-important", "email-inbox-nl-turk", "email-inbox-noscroll", "email-inbox-reply", "email-inbox-star-reply"} {
		solve(email, t)
	}
	solve(func(b *bench) {
		m := in(b.query(), `For the user (@\S+), click on the "(.+)" button`)
		post := fmt.Sprintf("#area .media:has(.username:text-is(%q))", m[0])
		class := map[string]string{"Reply": "reply", "Retweet": "retweet", "Like": "like"}[m[1]]
		if class != "" {
			b.clicks(post + " ." + class)
			return
		}
		b.clicks(post + " .more")
		b.clicks(post + " ." + map[string]string{"Share via DM": "share", "Copy link to Tweet": "copy", "Embed Tweet": "embed", "Mute": "menu-user", "Block": "block-user", "Report": "report"}[m[1]])
	}, "social-media")
	posts := func(b *bench) {
		q := b.query()
		action := strings.ToLower(quotedIn(q)[0])
		user := regexp.MustCompile(`@\S+`).FindString(q)
		s := fmt.Sprintf("#area .media:has(.username:text-is(%q)) .%s", user, action)
		n := 99
		if m := regexp.MustCompile(`on (\d+) posts?`).FindStringSubmatch(q); m != nil {
			n = num(m[1])
		}
		for i := range n {
			if b.try("click", args{"selector": s, "nth": i}).Err != nil {
				break
			}
			if n == 99 && !b.has(s+" >> nth="+strconv.Itoa(i+1)) {
				break
			}
		}
		submit(b)
	}
	solve(posts, "social-media-all", "social-media-some")
}

var (
	forwards = regexp.MustCompile(`(?i)forward`)
	nameWord = regexp.MustCompile(`\b[A-Z][a-z]+\b`)
)

// email works the inbox as asked in any wording: the senders that stand in it are the names to look for.
func email(b *bench) {
	q := b.query()
	var senders []string
	for _, l := range strings.Split(b.read("#main"), "\n") {
		if m := named(l); len(m) > 0 && m[0] != "" {
			senders = append(senders, strings.Fields(m[0])[0])
		}
	}
	lower := strings.ToLower(q)
	var names []string // in the order in which the task says them
	for _, w := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(q, -1) {
		w = strings.TrimSuffix(w, "'s")
		if nameWord.MatchString(w) && w != "Find" && w != "Make" && w != "Forward" && w != "Please" && w != "Send" && w != "Reply" && w != "Give" && w != "Click" && w != "The" && w != "I" {
			names = append(names, w)
		}
	}
	var from, to string
	pattern := func(p string) bool {
		m := regexp.MustCompile(p).FindStringSubmatch(q)
		if m == nil {
			return false
		}
		from, to = m[1], ""
		if len(m) > 2 {
			to = m[2]
		}
		return true
	}
	name := `([A-Z][a-z]+(?:-[A-Z]?[a-z]+)?)`
	_ = pattern(`(?:email by|written by|from|by) `+name+`.*\bto `+name) || pattern(name+`'s.* to `+name) ||
		pattern(`email by `+name) || pattern(`(?:from|by) `+name)
	if from == "" || to == "" && (strings.Contains(lower, "forward") || strings.Contains(lower, "send")) {
		// Who stands in the inbox and is not the one it goes to, wrote it.
		for _, p := range []string{`\bto ` + name, `[Gg]ive ` + name, `[Ff]orward ` + name + ` the`, `[Ss]end ` + name + ` the`, `[Ss]end ` + name} {
			if m := regexp.MustCompile(p).FindStringSubmatch(q); m != nil {
				to = m[1]
				break
			}
		}
		for _, n := range names {
			if n != to && slices.Contains(senders, n) {
				from = n
			}
		}
		if to == "" {
			for _, n := range names {
				if n != from {
					to = n
				}
			}
		}
	}
	thread := fmt.Sprintf("#main .email-thread:has(.email-sender:text-is(%q))", from)
	switch {
	case strings.Contains(lower, "reply") || strings.Contains(lower, "respond"):
		text := ""
		if quotes := quotedIn(q); len(quotes) > 0 {
			text = quotes[len(quotes)-1]
		}
		b.clicks(thread + " .email-subject")
		b.clicks(".email-reply")
		b.typeIn("#reply-text", text)
		b.clicks("#send-reply")
	case strings.Contains(lower, "trash") || strings.Contains(lower, "delete"):
		b.clicks(thread + " .trash")
	case strings.Contains(lower, "star") || strings.Contains(lower, "important"):
		b.clicks(thread + " .star")
	default:
		b.clicks(thread + " .email-subject")
		b.clicks(".email-forward")
		b.typeIn(".forward-sender", to)
		b.clicks("#send-forward")
	}
}

var synonyms = []string{
	"big large huge enormous gigantic", "small tiny little mini petite", "red scarlet crimson vermillion", "happy cheerful joyful gleeful delighted",
	"sad unhappy sorrowful miserable tragic", "angry mad furious irritated", "evil wicked immoral sinful corrupt depraved", "wrong incorrect mistaken erroneous",
	"real genuine actual", "strange odd peculiar unusual weird", "stop cease halt end finish", "scared terrified panicked fearful frightened afraid",
	"quiet calm peaceful serene mild", "old aged archaic", "love like adore favor", "kill murder assassinate", "keep retain preserve sustain maintain",
	"hide conceal camouflage", "hate despise loathe detest dislike", "funny humorous amusing comical laughable", "fat fleshy plump chubby", "stupid dumb dull unwise",
	"delicious savory delectable appetizing", "cut slice carve chop", "brave courageous fearless", "begin start initiate launch", "answer reply response",
	"television televisions TV TVs", "house home houses homes", "fire flame fires flames", "pig pork swine", "rabbit rabbits bunny bunnies",
	"car cars automobile automobiles vehicle vehicles", "water",
}
