package browse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/locate"
	"parley/tool"
)

// DefaultChars is how much of a page read gives when nothing is said, and MaxChars the most.
const (
	DefaultChars = 20_000
	MaxChars     = 400_000
)

// ReadArgs are read's.
type ReadArgs struct {
	On
	Ref      string `json:"ref,omitempty" arg:"maxlen=20,brief" doc:"Only what is in it."`
	Selector string `json:"selector,omitempty" arg:"maxlen=1000,terse" doc:"Only what is in the first visible match."`
	Find     string `json:"find,omitempty" arg:"maxlen=200,unlisted" doc:"Only lines that say this."`
	Depth    int    `json:"depth,omitempty" arg:"min=0,max=100,terse" doc:"Nesting at most."`
	Offset   int    `json:"offset,omitempty" arg:"min=0,terse" doc:"First line."`
	MaxChars int    `json:"max_chars,omitempty" arg:"min=200,max=400000,default=20000,terse" doc:"At most so much."`
	Links    bool   `json:"links,omitempty" arg:"terse" doc:"Show where links lead."`
}

// Read is the result of read and find.
type Read struct {
	Tab     string   `json:"tab" doc:"The tab that was read."`
	URL     string   `json:"url" arg:"untrusted" doc:"Its address."`
	Title   string   `json:"title" arg:"untrusted" doc:"Its title."`
	Text    string   `json:"text" arg:"untrusted" doc:"What it shows, in page order; refs (e12) name what can be worked."`
	Lines   int      `json:"lines" doc:"How many lines there are in all."`
	Matches *int     `json:"matches,omitempty" doc:"How many say what was looked for."`
	Next    int      `json:"next_offset,omitempty" doc:"Where what is cut off begins; absent when all is here."`
	Cut     string   `json:"cut,omitempty" doc:"What was cut off, and how to get it."`
	Notes   []string `json:"notes,omitempty" doc:"What could not be read, and why."`
}

// FindArgs are find's.
type FindArgs struct {
	On
	Text     string `json:"text" arg:"required,maxlen=200,terse" doc:"Case does not matter."`
	MaxChars int    `json:"max_chars,omitempty" arg:"min=200,max=400000,default=4000,unlisted" doc:"At most so much."`
}

func (s *Service) seeing() []tool.Tool {
	return []tool.Tool{
		newTool(s, tool.Spec[ReadArgs, Read]{
			Tool: tool.Tool{
				Name: "read", Title: "Read the page", Ephemeral: true, ReadOnly: true, OpenWorld: true,
				Doc:    "Read page and frames as text. `e7 button Buy`: a button Buy with ref e7, good while it lives.",
				Errors: append(pageErrors(), tool.CodeRefStale, tool.CodeRefUnknown, tool.CodeRefOtherTab, tool.CodeElementNotFound),
			},
			Run: s.read, Render: renderRead,
		}),
		newTool(s, tool.Spec[FindArgs, Read]{
			Tool: tool.Tool{
				Name: "find", Title: "Search the page", Ephemeral: true, ReadOnly: true, OpenWorld: true,
				Doc:    "Find the lines that say a text, with refs.",
				Errors: pageErrors(),
			},
			Run: func(ctx context.Context, c tool.Caller, a FindArgs) (Read, error) {
				return s.read(ctx, c, ReadArgs{On: a.On, Find: a.Text, MaxChars: a.MaxChars})
			},
			Render: renderRead,
		}),
	}
}

func (s *Service) read(ctx context.Context, c tool.Caller, a ReadArgs) (Read, error) {
	if a.Ref != "" && a.Selector != "" {
		return Read{}, tool.Fail(tool.CodeBadArgument, "what", "ref and selector exclude each other")
	}
	var out Read
	err := s.look(ctx, c, a.On, func(ctx context.Context, p *browser.Page) error {
		o := browser.ReadOptions{Find: a.Find, Depth: a.Depth, Links: a.Links}
		from, err := part(ctx, p, a.Ref, a.Selector)
		if err != nil {
			return err
		}
		o.From = from
		snap, err := p.Snapshot(ctx, o)
		if err != nil {
			return err
		}
		w := snap.Window(a.Offset, a.MaxChars)
		out = Read{Tab: snap.Tab, URL: snap.URL, Title: snap.Title, Text: w.Text, Lines: w.Total, Next: w.Next, Notes: snap.Notes}
		if snap.Matches >= 0 {
			out.Matches = &snap.Matches
		}
		out.Cut = cutLine(w, a)
		return nil
	})
	if err != nil {
		return Read{}, err
	}
	session, err := s.session(c, a.Session)
	if err == nil {
		out.Notes = append(out.Notes, session.TakeNotes()...)
	}
	return out, nil
}

// part gets hold of the element that a ref or a selector names; nil when neither is given.
func part(ctx context.Context, p *browser.Page, ref, selector string) (*browser.Object, error) {
	switch {
	case ref != "":
		e, err := p.Resolve(ctx, browser.Ref(ref))
		if err != nil {
			return nil, err
		}
		return &e.Object, nil
	case selector != "":
		o, err := act.Find(ctx, p, locate.Locator{Selector: selector}, act.FindOptions{Wait: 5 * time.Second})
		if err != nil {
			return nil, err
		}
		return &o, nil
	}
	return nil, nil
}

// cutLine says what of a page is not in an answer and how to get it; empty when all is.
func cutLine(w browser.Window, a ReadArgs) string {
	switch {
	case w.Next > 0:
		ways := []string{fmt.Sprintf("offset: %d goes on", w.Next)}
		if a.Find == "" {
			ways = append(ways, `find: "…" searches all of it`, `ref: "e…" reads one part`)
			if a.Depth == 0 {
				ways = append(ways, "depth: 2 is an overview")
			}
		}
		if a.MaxChars < MaxChars {
			ways = append(ways, fmt.Sprintf("max_chars (up to %d) takes more at once", MaxChars))
		}
		return fmt.Sprintf("lines %d to %d of %d are cut off: %s", w.Next+1, w.Total, w.Total, strings.Join(ways, ", "))
	case w.From > 0 && w.From >= w.Total:
		return fmt.Sprintf("there are %d lines only: nothing is at offset %d", w.Total, a.Offset)
	}
	return ""
}

func renderRead(r Read, t *tool.Text) {
	if r.Matches != nil {
		t.Line("%d matches", *r.Matches)
	}
	t.Quote(r.Tab + " " + r.URL + " " + r.Title + "\n" + r.Text)
	if r.Cut != "" {
		t.Line("[%s]", r.Cut)
	}
	for _, n := range r.Notes {
		t.Line("[%s]", n)
	}
}

func tabMissing(err error) bool { return errors.Is(err, browser.ErrNoTab) }
