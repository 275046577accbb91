package browser

import (
	"context"
	"errors"

	"github.com/go-rod/rod/lib/proto"
)

// Chooser is the window for choosing files that a page opened, while such windows are ours: nothing shows, and we answer.
type Chooser struct {
	Multiple bool // it takes several files

	session proto.TargetSessionID
	backend proto.DOMBackendNodeID
}

// InterceptChoosers makes file choosers that the page and its frames open ours. Without it the browser shows a window that
// nobody can reach.
func (p *Page) InterceptChoosers(ctx context.Context, on bool) error {
	p.mu.Lock()
	p.chooser = nil
	sessions := []proto.TargetSessionID{p.session}
	for s := range p.subs {
		sessions = append(sessions, s)
	}
	p.mu.Unlock()
	for _, s := range sessions {
		err := proto.PageSetInterceptFileChooserDialog{Enabled: on}.Call(p.client(ctx, s))
		if err != nil && !errors.Is(err, errNoSession) { // a frame that went away opens nothing
			return err
		}
	}
	return nil
}

// chooserOpened notes a chooser, from the goroutine that reads from the browser.
func (p *Page) chooserOpened(session proto.TargetSessionID, e *proto.PageFileChooserOpened) {
	if e.BackendNodeID == 0 {
		return // one of the page's own making, which cannot be answered
	}
	p.update(func() {
		p.chooser = &Chooser{Multiple: e.Mode == proto.PageFileChooserOpenedModeSelectMultiple, session: session, backend: e.BackendNodeID}
	})
}

// Chooser waits for a chooser that the page opens; nil when the context ends before.
func (p *Page) Chooser(ctx context.Context) *Chooser {
	var c *Chooser
	_ = p.wait(ctx, func() bool { c = p.chooser; return c != nil }) // none is an answer
	return c
}

// Choose answers a chooser with files by their paths.
func (p *Page) Choose(ctx context.Context, c *Chooser, files []string) error {
	return proto.DOMSetFileInputFiles{Files: files, BackendNodeID: c.backend}.Call(p.client(ctx, c.session))
}

// SetFiles gives an <input type=file> its files by their paths, as a person's choice would.
func (o Object) SetFiles(ctx context.Context, files []string) error {
	return proto.DOMSetFileInputFiles{Files: files, ObjectID: o.ID}.Call(o.Frame.Client(ctx))
}
