package browse

import (
	"context"
	"fmt"

	"parley/browser"
	"parley/tool"
)

// ScreenshotArgs are screenshot's.
type ScreenshotArgs struct {
	On
	Ref      string `json:"ref,omitempty" arg:"maxlen=20,terse" doc:"Only this element."`
	Selector string `json:"selector,omitempty" arg:"maxlen=1000,terse" doc:"Only the first visible match."`
	Full     bool   `json:"full,omitempty" arg:"terse" doc:"The whole page."`
	Format   string `json:"format,omitempty" arg:"enum=jpeg|webp|png,default=jpeg,unlisted" doc:"Of the picture."`
	MaxEdge  int    `json:"max_edge,omitempty" arg:"min=100,max=8000,default=1568,terse" doc:"Longest edge, pixels."`
}

// Pictured is screenshot's result; the picture stands beside it.
type Pictured struct {
	Width  int     `json:"width" doc:"Pixels."`
	Height int     `json:"height" doc:"Pixels."`
	X      float64 `json:"x" doc:"Where its left edge is in the viewport."`
	Y      float64 `json:"y" doc:"Where its upper edge is in the viewport."`
	Scale  float64 `json:"scale" doc:"Its pixels for one of the page: a point (px, py) of the picture is (x + px/scale, y + py/scale) of the viewport."`
	Bytes  int     `json:"bytes" doc:"How large the picture is."`
	Cut    bool    `json:"cut,omitempty" doc:"The page is longer than the picture."`

	picture tool.Image
}

// Images gives the picture.
func (p Pictured) Images() []tool.Image { return []tool.Image{p.picture} }

// PDFArgs are pdf's.
type PDFArgs struct {
	On
	Landscape bool `json:"landscape,omitempty" arg:"terse" doc:"Wider than high."`
}

// Printed is pdf's result; the file stands beside it.
type Printed struct {
	Bytes int `json:"bytes" doc:"How large the PDF is."`

	file tool.Image
}

// Images gives the file.
func (p Printed) Images() []tool.Image { return []tool.Image{p.file} }

// ConsoleArgs are console's.
type ConsoleArgs struct {
	On
	Level string `json:"level,omitempty" arg:"enum=error|warning|info|debug,default=info,terse" doc:"At least."`
	Since int    `json:"since,omitempty" arg:"min=0,brief" doc:"After this seq."`
	Max   int    `json:"max,omitempty" arg:"min=1,max=200,default=50,unlisted" doc:"Newest at most."`
}

// Console is console's result.
type Console struct {
	Lines []browser.Line `json:"lines" doc:"Oldest first."`
	More  int            `json:"more,omitempty" doc:"How many older ones are not listed."`
}

// NetworkArgs are network's.
type NetworkArgs struct {
	On
	Failed bool `json:"failed,omitempty" arg:"terse" doc:"Only what failed or was refused."`
	Since  int  `json:"since,omitempty" arg:"min=0,terse" doc:"After this seq."`
	Max    int  `json:"max,omitempty" arg:"min=1,max=300,default=50,unlisted" doc:"Newest at most."`
	Body   bool `json:"body,omitempty" arg:"unlisted" doc:"Always refused."`
}

// Network is network's result.
type Network struct {
	Requests []browser.Request `json:"requests" doc:"Oldest first."`
	More     int               `json:"more,omitempty" doc:"How many older ones are not listed."`
}

func (s *Service) looking() []tool.Tool {
	elementErrors := append(pageErrors(), tool.CodeRefStale, tool.CodeRefUnknown, tool.CodeRefOtherTab, tool.CodeElementNotFound)
	return []tool.Tool{
		newTool(s, tool.Spec[ScreenshotArgs, Pictured]{
			Tool: tool.Tool{
				Name: "screenshot", Title: "Take a picture", Ephemeral: true, ReadOnly: true, OpenWorld: true,
				Doc:    "Picture of the viewport, an element or the full page.",
				Errors: append(elementErrors, tool.CodeNothingToSee),
			},
			Run: s.screenshot,
			Render: func(p Pictured, t *tool.Text) {
				t.Line("%dx%d", p.Width, p.Height)
				if p.Scale != 1 || p.X != 0 || p.Y != 0 {
					t.Line("its corner is at (%.0f, %.0f) of the viewport, its scale %.3g", p.X, p.Y, p.Scale)
				}
				if p.Cut {
					t.Line("the page is longer than the picture")
				}
			},
		}),
		newTool(s, tool.Spec[PDFArgs, Printed]{
			Tool: tool.Tool{Name: "pdf", Title: "Print to PDF", ReadOnly: true, OpenWorld: true, Doc: "The page as a PDF file.", Errors: append(pageErrors(), tool.CodeNothingToSee)},
			Run: func(ctx context.Context, c tool.Caller, a PDFArgs) (Printed, error) {
				var out Printed
				err := s.look(ctx, c, a.On, func(ctx context.Context, p *browser.Page) error {
					data, err := p.PDF(ctx, a.Landscape)
					out = Printed{len(data), tool.Image{MIME: "application/pdf", Data: data}}
					return err
				})
				if err != nil {
					return Printed{}, err
				}
				return out, nil
			},
		}),
		newTool(s, tool.Spec[ConsoleArgs, Console]{
			Tool: tool.Tool{Name: "console", Title: "Console", Ephemeral: true, ReadOnly: true, OpenWorld: true, Doc: "Messages and errors of scripts.", Errors: []tool.Code{tool.CodeSessionNotFound, tool.CodeSessionNeeded, tool.CodeSessionGone}},
			Run: func(_ context.Context, c tool.Caller, a ConsoleArgs) (Console, error) {
				p, err := s.current(c, a.Session)
				if err != nil {
					return Console{}, err
				}
				out := Console{Lines: []browser.Line{}}
				lines, more := p.Console(a.Level, a.Since, a.Max)
				out.Lines, out.More = append(out.Lines, lines...), more
				return out, nil
			},
			Render: func(r Console, t *tool.Text) {
				text := ""
				for _, l := range r.Lines {
					text += fmt.Sprintf("[%d] %s %s", l.Seq, l.Level, l.Text)
					if l.From != "" {
						text += " (" + l.From + ")"
					}
					text += "\n"
				}
				if len(r.Lines) == 0 {
					t.Line("nothing")
				}
				if r.More > 0 {
					t.Line("%d older lines are not listed", r.More)
				}
				t.Quote(text)
			},
		}),
		newTool(s, tool.Spec[NetworkArgs, Network]{
			Tool: tool.Tool{Name: "network", Title: "Network", Ephemeral: true, ReadOnly: true, OpenWorld: true, Doc: "Requests, without bodies and headers.", Errors: []tool.Code{tool.CodeSessionNotFound, tool.CodeSessionNeeded, tool.CodeSessionGone, tool.CodeDenied}},
			Run: func(_ context.Context, c tool.Caller, a NetworkArgs) (Network, error) {
				if a.Body {
					return Network{}, tool.Fail(tool.CodeDenied, "reason", "bodies of requests are not kept and never read")
				}
				p, err := s.current(c, a.Session)
				if err != nil {
					return Network{}, err
				}
				out := Network{Requests: []browser.Request{}}
				list, more := p.Requests(a.Since, a.Max, a.Failed)
				out.Requests, out.More = append(out.Requests, list...), more
				return out, nil
			},
			Render: func(r Network, t *tool.Text) {
				text := ""
				for _, q := range r.Requests {
					text += fmt.Sprintf("[%d] %s %s %s", q.Seq, q.Method, q.URL, q.Type)
					switch {
					case q.Error != "":
						text += " failed: " + q.Error
					case q.Status != 0:
						text += fmt.Sprintf(" %d", q.Status)
					default:
						text += " (under way)"
					}
					text += fmt.Sprintf(" %d ms %d bytes\n", q.TookMS, q.Bytes)
				}
				if len(r.Requests) == 0 {
					t.Line("nothing")
				}
				if r.More > 0 {
					t.Line("%d older requests are not listed", r.More)
				}
				t.Quote(text)
			},
		}),
	}
}

// current is the tab whose console or requests are asked for. It asks nobody, so that a page that hangs tells them too.
func (s *Service) current(c tool.Caller, id string) (*browser.Page, error) {
	session, err := s.session(c, id)
	if err != nil {
		return nil, err
	}
	p := session.Current()
	if p == nil {
		return nil, tool.Fail(tool.CodeTabNotFound, "tab", "open")
	}
	return p, nil
}

func (s *Service) screenshot(ctx context.Context, c tool.Caller, a ScreenshotArgs) (Pictured, error) {
	if a.Ref != "" && a.Selector != "" || a.Full && (a.Ref != "" || a.Selector != "") {
		return Pictured{}, tool.Fail(tool.CodeBadArgument, "what", "ref, selector and full exclude each other")
	}
	var out Pictured
	err := s.look(ctx, c, a.On, func(ctx context.Context, p *browser.Page) error {
		of, err := part(ctx, p, a.Ref, a.Selector)
		if err != nil {
			return err
		}
		pic, err := p.Picture(ctx, browser.PictureOptions{Of: of, Full: a.Full, Format: a.Format, MaxEdge: a.MaxEdge})
		if err != nil {
			return err
		}
		out = Pictured{Width: pic.Width, Height: pic.Height, X: pic.X, Y: pic.Y, Scale: pic.Scale, Bytes: len(pic.Data), Cut: pic.Cut,
			picture: tool.Image{MIME: pic.MIME, Data: pic.Data}}
		return nil
	})
	if err != nil {
		return Pictured{}, err
	}
	return out, nil
}
