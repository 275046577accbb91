package chromium

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Tab is one page of the browser and our session with it.
type Tab struct {
	b       *Browser
	target  proto.TargetTargetID
	session proto.TargetSessionID
	stop    func()
}

// OpenTab opens a blank page in a window of its own. Its events go to handle, which must not wait and must not call
// the browser.
func (b *Browser) OpenTab(ctx context.Context, handle func(*cdp.Event)) (*Tab, error) {
	made, err := proto.TargetCreateTarget{URL: "about:blank", NewWindow: true}.Call(b.With(ctx))
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	t := &Tab{b: b, target: made.TargetID}
	attached, err := proto.TargetAttachToTarget{TargetID: made.TargetID, Flatten: true}.Call(b.With(ctx))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach to a tab: %w", err), t.Close(ctx))
	}
	t.session = attached.SessionID
	t.stop = b.listen(string(t.session), handle)
	return t, nil
}

// Browser is whose tab it is.
func (t *Tab) Browser() *Browser { return t.b }

// With binds calls of the tab to a context.
func (t *Tab) With(ctx context.Context) proto.Client {
	return caller{b: t.b, ctx: ctx, session: t.session}
}

// Post sends a request and does not wait for its answer: for rows of input, whose end a Call tells.
func (t *Tab) Post(r proto.Request) error { return t.b.post(string(t.session), r.ProtoReq(), r) }

// URL is the tab's address. The browser's process answers, so that a page that hangs does not matter.
func (t *Tab) URL(ctx context.Context) (string, error) {
	info, err := proto.TargetGetTargetInfo{TargetID: t.target}.Call(t.b.With(ctx))
	if err != nil {
		return "", err
	}
	return info.TargetInfo.URL, nil
}

// Close closes the tab without asking the page. A browser that has ended is no error.
func (t *Tab) Close(ctx context.Context) error {
	if t.stop != nil {
		t.stop()
	}
	_, err := proto.TargetCloseTarget{TargetID: t.target}.Call(t.b.With(ctx))
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
