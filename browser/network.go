package browser

import (
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Request is what is known of one request of the page. Bodies and headers are never kept.
type Request struct {
	Seq    int       `json:"seq" doc:"Its number; it grows."`
	At     time.Time `json:"at" doc:"When."`
	Method string    `json:"method" arg:"untrusted" doc:"GET, POST, …."`
	URL    string    `json:"url" arg:"untrusted" doc:"The address, without what follows a ? or #."`
	Type   string    `json:"type" doc:"What was asked for: document, xhr, fetch, script, image."`
	Status int       `json:"status,omitempty" doc:"What the server answered; absent while nothing has come."`
	MIME   string    `json:"mime,omitempty" arg:"untrusted" doc:"What kind of answer."`
	Bytes  int       `json:"bytes,omitempty" doc:"What came over the network."`
	TookMS int       `json:"took_ms,omitempty" doc:"Milliseconds."`
	Error  string    `json:"error,omitempty" doc:"Why it failed (net::ERR_…)."`

	id    proto.NetworkRequestID
	began float64
	done  bool
	waits bool // what the page does next may depend on it
}

// network keeps the newest requests.
type network struct {
	list []*Request
	byID map[proto.NetworkRequestID]*Request
	last int
}

// maxRequests is how many are kept.
const maxRequests = 300

// traffic follows requests.
func (p *Page) traffic(session proto.TargetSessionID, e *cdp.Event) {
	var x struct {
		RequestID proto.NetworkRequestID `json:"requestId"`
		LoaderID  proto.NetworkLoaderID  `json:"loaderId"`
		FrameID   proto.PageFrameID      `json:"frameId"`
		Type      string                 `json:"type"`
		Timestamp float64                `json:"timestamp"`
		Request   struct {
			Method string `json:"method"`
			URL    string `json:"url"`
		} `json:"request"`
		Response struct {
			Status   int    `json:"status"`
			MIMEType string `json:"mimeType"`
		} `json:"response"`
		RedirectResponse *struct {
			Status int `json:"status"`
		} `json:"redirectResponse"`
		EncodedDataLength float64 `json:"encodedDataLength"`
		ErrorText         string  `json:"errorText"`
	}
	if !p.read(e, &x) {
		return
	}
	id := proto.NetworkRequestID(string(session) + "/" + string(x.RequestID))
	p.update(func() {
		n := &p.network
		if n.byID == nil {
			n.byID = map[proto.NetworkRequestID]*Request{}
		}
		r := n.byID[id]
		if e.Method == "Network.requestWillBeSent" {
			if r != nil && x.RedirectResponse != nil {
				r.Status, r.done = x.RedirectResponse.Status, true
				r.TookMS = int((x.Timestamp - r.began) * 1000)
			}
			n.last++
			r = &Request{Seq: n.last, At: time.Now(), Method: clip(x.Request.Method, 20), URL: bareURL(x.Request.URL), Type: lower(x.Type), id: id, began: x.Timestamp}
			switch r.Type {
			case "document", "xhr", "fetch", "script", "stylesheet":
				r.waits = true
			}
			n.byID[id] = r
			n.list = append(n.list, r)
			if len(n.list) > maxRequests {
				old := n.list[0]
				n.list = n.list[1:]
				if n.byID[old.id] == old {
					delete(n.byID, old.id)
				}
			}
			return
		}
		if e.Method == "Network.responseReceived" && x.Type == "Document" && session == p.session && x.FrameID == p.nav.frame {
			if len(p.nav.answered) > 20 {
				clear(p.nav.answered)
			}
			p.nav.answered[x.LoaderID] = answer{x.Response.Status, x.Response.MIMEType}
		}
		if r == nil {
			return
		}
		switch e.Method {
		case "Network.responseReceived":
			r.Status, r.MIME = x.Response.Status, clip(x.Response.MIMEType, 60)
			if r.Type == "eventsource" || r.MIME == "text/event-stream" {
				r.waits = false // it never ends
			}
		case "Network.loadingFinished", "Network.loadingFailed":
			r.done = true
			r.TookMS = int((x.Timestamp - r.began) * 1000)
			r.Bytes = int(x.EncodedDataLength)
			r.Error = clip(x.ErrorText, 80)
		}
	})
}

// Requests gives the newest requests after the one of number since, at most max, and how many older ones are not among
// them. failed gives only those that failed or were answered with an error.
func (p *Page) Requests(since, max int, failed bool) (list []Request, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.network.list {
		if r.Seq > since && (!failed || r.Error != "" || r.Status >= 400) {
			list = append(list, *r)
		}
	}
	if over := len(list) - max; max > 0 && over > 0 {
		return list[over:], over
	}
	return list, 0
}

// awaited counts the requests after the one of number since that are under way and that the page may wait for. The
// caller holds the lock.
func (p *Page) awaited(since int) (n int) {
	for _, r := range p.network.list {
		if r.Seq > since && r.waits && !r.done {
			n++
		}
	}
	return n
}
