package transcript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Format is a way to write a transcript down.
type Format string

// The formats of Export.
const (
	Markdown Format = "md"
	Text     Format = "txt"
	SRT      Format = "srt"
	WebVTT   Format = "vtt"
	JSON     Format = "json"
)

// Formats are all formats, for help texts and checks.
var Formats = []Format{Markdown, Text, SRT, WebVTT, JSON}

// Meta is what an export says about the meeting. Every member may be empty.
type Meta struct {
	MeetingID string    `json:"meeting_id,omitempty"`
	Title     string    `json:"title,omitempty"` // from the page: untrusted
	Platform  string    `json:"platform,omitempty"`
	Started   time.Time `json:"started,omitzero"` // of the first recorded sample
}

// Export writes segments (as View gives them) in a format. Names and texts come from other people: whatever
// they contain, the result is well-formed, and none of it becomes markup. It fails on an unknown format, or
// with w.
func Export(w io.Writer, f Format, m Meta, segs []Segment) error {
	b := bufio.NewWriter(w)
	switch f {
	case Markdown:
		writeMarkdown(b, m, segs)
	case Text:
		writeText(b, m, segs)
	case SRT:
		writeSRT(b, segs)
	case WebVTT:
		writeVTT(b, m, segs)
	case JSON:
		e := json.NewEncoder(b)
		e.SetIndent("", "  ")
		if segs == nil {
			segs = []Segment{}
		}
		if err := e.Encode(struct {
			Meta
			Segments []Segment `json:"segments"`
		}{m, segs}); err != nil {
			return fmt.Errorf("transcript: export: %w", err)
		}
	default:
		return fmt.Errorf("transcript: export: unknown format %q (md, txt, srt, vtt, json)", f)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("transcript: export: %w", err)
	}
	return nil
}

// nameOf is the name that an export shows; empty when nobody knows.
func nameOf(s Segment) string {
	if s.Speaker == nil {
		return ""
	}
	if n := plain(s.Speaker.Name); n != "" {
		return n
	}
	if s.Speaker.ID != "" {
		return "Unnamed participant"
	}
	return ""
}

// plain makes one line of a text: white space is folded, and control and format characters (which could turn
// the line round, or hide a part of it) are dropped, save the joiners that scripts need.
func plain(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == '\u200c' || r == '\u200d':
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// paragraph is a run of segments by one speaker.
type paragraph struct {
	name  string
	start float64
	texts []string
}

// paragraphs joins neighbours by one speaker that lie close together.
func paragraphs(segs []Segment) []paragraph {
	const pause = 10 // seconds
	var out []paragraph
	var end float64
	for _, s := range segs {
		text := plain(s.Text)
		if text == "" {
			continue
		}
		name := nameOf(s)
		if n := len(out); n > 0 && name != "" && out[n-1].name == name && s.Start-end < pause {
			out[n-1].texts = append(out[n-1].texts, text)
		} else {
			out = append(out, paragraph{name: name, start: s.Start, texts: []string{text}})
		}
		end = s.End
	}
	return out
}

func writeMarkdown(w *bufio.Writer, m Meta, segs []Segment) {
	title := plain(m.Title)
	if title == "" {
		title = "Transcript"
	}
	fmt.Fprintf(w, "# %s\n", mdEscape(title))
	var facts []string
	if !m.Started.IsZero() {
		facts = append(facts, m.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, s := range []string{m.Platform, m.MeetingID} {
		if s = plain(s); s != "" {
			facts = append(facts, mdEscape(s))
		}
	}
	if len(facts) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(facts, " · "))
	}
	for _, p := range paragraphs(segs) {
		name := p.name
		if name == "" {
			name = "Unknown speaker"
		}
		fmt.Fprintf(w, "\n**%s** (%s)  \n%s\n", mdEscape(name), clock(p.start, false), mdEscape(strings.Join(p.texts, " ")))
	}
}

// mdEscape takes the meaning from every character that Markdown, or HTML inside it, gives one.
func mdEscape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '#', '|', '~', '!', '&', '$', '@', ':':
			if r != ':' || strings.HasPrefix(s[i:], "://") {
				b.WriteByte('\\')
			}
		case '+', '-', '=':
			if i == 0 {
				b.WriteByte('\\')
			}
		case '.', ')':
			list := i > 0 && i < 10 && strings.Trim(s[:i], "0123456789") == ""
			link := len(s[:i]) >= 3 && strings.EqualFold(s[i-3:i], "www")
			if list || link {
				b.WriteByte('\\') // "1." would begin a list, "www." a link
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func writeText(w *bufio.Writer, m Meta, segs []Segment) {
	if t := plain(m.Title); t != "" {
		fmt.Fprintf(w, "%s\n\n", t)
	}
	for _, s := range segs {
		text := plain(s.Text)
		if text == "" {
			continue
		}
		if name := nameOf(s); name != "" {
			fmt.Fprintf(w, "[%s] %s: %s\n", clock(s.Start, false), name, text)
		} else {
			fmt.Fprintf(w, "[%s] %s\n", clock(s.Start, false), text)
		}
	}
}

// clock writes seconds as h:mm:ss, or with milliseconds as subtitles want it.
func clock(s float64, millis bool) string {
	if !(s > 0) { // also NaN
		s = 0
	}
	const most = 359999.999 // 99:59:59.999
	ms := int64(min(s, most)*1000 + 0.5)
	h, m, sec := ms/3600000, ms/60000%60, ms/1000%60
	if millis {
		return fmt.Sprintf("%02d:%02d:%02d.%03d", h, m, sec, ms%1000)
	}
	return fmt.Sprintf("%d:%02d:%02d", h, m, sec)
}
