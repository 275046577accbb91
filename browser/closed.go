package browser

import (
	"context"
	"sync"

	"github.com/go-rod/rod/lib/proto"
)

// maxSuspects bounds how many elements one look asks for a closed shadow root.
const maxSuspects = 200

// openClosed finds closed shadow roots, which no script of a page can ask for, and gives them to our kit in the document,
// which treats them like open ones from then on: read, found, clicked and masked. It asks for those elements only that
// may have one: custom elements, and boxes that show something though nothing is in them.
func (f *Frame) openClosed(ctx context.Context) error {
	for range 3 { // closed roots in closed roots
		found, err := f.Objects(ctx, nil, "(max, kit) => kit.suspects(max)", maxSuspects)
		if err != nil || len(found) == 0 {
			return err
		}
		var (
			asking sync.WaitGroup
			room   = make(chan struct{}, 32)
			mu     sync.Mutex
			opened int
		)
		for _, o := range found {
			room <- struct{}{}
			asking.Go(func() {
				defer func() { <-room }()
				got, err := proto.DOMDescribeNode{ObjectID: o.ID}.Call(f.Client(ctx))
				if err != nil {
					return // it is gone
				}
				for _, root := range got.Node.ShadowRoots {
					if root.ShadowRootType != proto.DOMShadowRootTypeClosed {
						continue
					}
					r, err := f.Object(ctx, root.BackendNodeID)
					if err != nil {
						continue
					}
					if r.Call(ctx, nil, "(root, arg, kit) => kit.adopt(root)", nil, nil) == nil {
						mu.Lock()
						opened++
						mu.Unlock()
					}
				}
			})
		}
		asking.Wait()
		if opened == 0 {
			return context.Cause(ctx)
		}
	}
	return nil
}
