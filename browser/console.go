package browser

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/cdp"
)

// Line is one message of the page's console, or an exception of its scripts.
type Line struct {
	Seq   int       `json:"seq" doc:"Its number; it grows."`
	At    time.Time `json:"at" doc:"When."`
	Level string    `json:"level" doc:"error, warning, info, log or debug; exceptions are errors."`
	Text  string    `json:"text" arg:"untrusted" doc:"What it says."`
	From  string    `json:"from,omitempty" arg:"untrusted" doc:"Script and line."`
}

// console keeps the newest lines.
type console struct {
	lines  []Line
	last   int // number of the newest
	errors int // since the tab opened
	told   int // errors that an answer counted already
}

// maxLines is how many lines of the console are kept, and maxLineText how much of each.
const (
	maxLines    = 200
	maxLineText = 1000
)

func (p *Page) hear(e *cdp.Event) {
	l := Line{At: time.Now()}
	switch e.Method {
	case "Runtime.consoleAPICalled":
		var c struct {
			Type string `json:"type"`
			Args []struct {
				Type        string `json:"type"`
				Value       any    `json:"value"`
				Description string `json:"description"`
			} `json:"args"`
			StackTrace *struct {
				CallFrames []callFrame `json:"callFrames"`
			} `json:"stackTrace"`
		}
		if !p.read(e, &c) {
			return
		}
		switch c.Type {
		case "error", "assert":
			l.Level = "error"
		case "warning":
			l.Level = "warning"
		case "debug":
			l.Level = "debug"
		case "info":
			l.Level = "info"
		case "clear", "endGroup":
			return
		default:
			l.Level = "log"
		}
		var b strings.Builder
		for i, a := range c.Args {
			if i > 0 {
				b.WriteByte(' ')
			}
			switch {
			case a.Value != nil:
				fmt.Fprint(&b, a.Value)
			case a.Description != "":
				b.WriteString(a.Description)
			default:
				b.WriteString(a.Type)
			}
			if b.Len() > 2*maxLineText {
				break
			}
		}
		l.Text = b.String()
		if c.StackTrace != nil && len(c.StackTrace.CallFrames) > 0 {
			l.From = c.StackTrace.CallFrames[0].String()
		}
	case "Runtime.exceptionThrown":
		var x struct {
			ExceptionDetails struct {
				Text       string `json:"text"`
				URL        string `json:"url"`
				LineNumber int    `json:"lineNumber"`
				Exception  struct {
					Description string `json:"description"`
				} `json:"exception"`
			} `json:"exceptionDetails"`
		}
		if !p.read(e, &x) {
			return
		}
		l.Level = "error"
		l.Text = strings.TrimSpace(x.ExceptionDetails.Text + " " + x.ExceptionDetails.Exception.Description)
		if x.ExceptionDetails.URL != "" {
			l.From = callFrame{URL: x.ExceptionDetails.URL, LineNumber: x.ExceptionDetails.LineNumber}.String()
		}
	case "Log.entryAdded":
		var x struct {
			Entry struct {
				Level string `json:"level"`
				Text  string `json:"text"`
				URL   string `json:"url"`
			} `json:"entry"`
		}
		if !p.read(e, &x) {
			return
		}
		l.Level, l.Text, l.From = x.Entry.Level, x.Entry.Text, clip(x.Entry.URL, 200)
		if l.Level == "verbose" {
			l.Level = "debug"
		}
	}
	l.Text = clip(l.Text, maxLineText)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console.last++
	l.Seq = p.console.last
	if l.Level == "error" {
		p.console.errors++
	}
	p.console.lines = append(p.console.lines, l)
	if len(p.console.lines) > maxLines {
		p.console.lines = p.console.lines[len(p.console.lines)-maxLines:]
	}
}

type callFrame struct {
	URL        string `json:"url"`
	LineNumber int    `json:"lineNumber"`
}

func (f callFrame) String() string {
	if f.URL == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", clip(f.URL, 200), f.LineNumber+1)
}

// levels orders the levels of the console.
var levels = map[string]int{"debug": 0, "log": 1, "info": 1, "warning": 2, "error": 3}

// Console gives the newest lines of at least a level ("" is all), after the one of number since, at most max; and how
// many older ones are not among them.
func (p *Page) Console(level string, since, max int) (lines []Line, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.console.lines {
		if l.Seq > since && levels[l.Level] >= levels[level] {
			lines = append(lines, l)
		}
	}
	if over := len(lines) - max; max > 0 && over > 0 {
		return lines[over:], over
	}
	return lines, 0
}

// newErrors counts the page's errors that no answer has counted yet.
func (p *Page) newErrors() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.console.errors - p.console.told
	p.console.told = p.console.errors
	return n
}
