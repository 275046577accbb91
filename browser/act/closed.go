package act

import (
	"context"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/locate"
)

// closedAfter is how long the elements that scripts can see are given before closed shadow roots are looked into.
const closedAfter = 400 * time.Millisecond

// closedLimit is how long one such look may take: of a document without a single element the browser never answers.
const closedLimit = 2 * time.Second

// closed looks into closed shadow roots, which no script sees but the browser's accessibility tree does. It is asked once,
// when nothing else was found for a moment, and again at the end.
func (s *seeker) closed(ctx context.Context, frames []*browser.Frame, last bool) (element, bool) {
	if s.q.Counted() || len(s.q.Parts) != 1 || !last && (s.lookedClosed || time.Since(s.began) < closedAfter) {
		return element{}, false
	}
	s.lookedClosed = true
	ctx, cancel := context.WithTimeout(ctx, closedLimit)
	defer cancel()
	ask := proto.AccessibilityQueryAXTree{}
	part := s.q.Parts[0]
	var text *locate.Text
	switch {
	case part.Engine == "role" && len(part.Role.States) == 0:
		ask.Role, text = part.Role.Role, part.Role.Name
	case part.Engine == "text" && part.Text.Match == "":
		ask.Role, text = "StaticText", part.Text
	default:
		return element{}, false
	}
	for _, f := range frames {
		root, err := proto.DOMGetDocument{}.Call(f.Client(ctx))
		if err != nil || (f.Parent != nil && !f.Remote()) {
			continue // frames of the same process are not reached this way
		}
		ask.BackendNodeID = root.Root.BackendNodeID
		got, err := ask.Call(f.Client(ctx))
		if err != nil {
			continue
		}
		for _, n := range got.Nodes {
			if n.Ignored || n.BackendDOMNodeID == 0 || !says(n, text) {
				continue
			}
			o, err := f.Object(ctx, n.BackendDOMNodeID)
			if err != nil {
				continue
			}
			var id int
			err = o.Call(ctx, kit, "(n, _, k) => { const el = n.nodeType === 1 ? n : n.parentElement || (n.parentNode && n.parentNode.host); return el && k.visible(el) ? k.hold(el) : 0; }", nil, &id)
			if err == nil && id != 0 {
				return element{f, id}, true
			}
		}
	}
	return element{}, false
}

func says(n *proto.AccessibilityAXNode, t *locate.Text) bool {
	if t == nil {
		return true
	}
	if n.Name == nil {
		return false
	}
	name := strings.Join(strings.Fields(n.Name.Value.Str()), " ")
	if t.Is != "" && !t.Fold {
		return name == strings.Join(strings.Fields(t.Is), " ")
	}
	return strings.Contains(strings.ToLower(name), strings.ToLower(strings.Join(strings.Fields(t.Has+t.Is), " ")))
}
