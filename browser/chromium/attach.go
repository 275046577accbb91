package chromium

import (
	"context"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Listen makes handle get the events of a session until stop is called; the empty session is the browser's own. It
// runs on the one goroutine that reads from the browser: it must not wait and must not Call the browser, but may Post.
func (b *Browser) Listen(session proto.TargetSessionID, handle func(*cdp.Event)) (stop func()) {
	return b.listen(string(session), handle)
}

// Bind binds calls of a session to a context; the empty session is the browser's own.
func (b *Browser) Bind(ctx context.Context, session proto.TargetSessionID) proto.Client {
	return caller{b: b, ctx: ctx, session: session}
}

// Post sends a request to a session and does not wait for its answer, which is lost. The browser works requests in
// their order.
func (b *Browser) Post(session proto.TargetSessionID, r proto.Request) error {
	return b.post(string(session), r.ProtoReq(), r)
}
