package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley/control/inspect"
	"parley/control/publish"
	"parley/control/span"
	"parley/control/tabs"
)

// Limits of one submission.
const (
	LeaseLife = 15 * time.Second
	MaxBody   = 64 << 10
	MaxFields = 128 // distinct
)

// Phase is what happened to a prepared submission, for the audit. It says nothing of what was in it.
type Phase string

// The phases.
const (
	Prepared   Phase = "credential-prepared"
	Authorized Phase = "credential-authorized" // the request may go; whether it went is not known
	Denied     Phase = "credential-denied"
	Completed  Phase = "credential-http-completed" // an answer came, also one that says no
	Failed     Phase = "credential-transaction-failed"
)

// Terms are what a lease is held to.
type Terms struct {
	Form     publish.Form
	Tab      string
	Document string
	// Armed false lets no submission through: the credential was only filled in.
	Armed bool
	// Still says whether actor, generation, foreground, policy and vault are those of the preparation. It must not wait.
	Still func() bool
	Now   func() time.Time
	// Tell gets what happened; nil tells nobody. It must not wait for long.
	Tell func(Phase)
	// Trace gets the phases' times; nil records nothing.
	Trace *span.Trace
}

// Lease watches a tab into whose form a login was put. It lets at most one submission through, for LeaseLife, and holds
// back whatever else would carry the password away. It implements tabs.Judge.
type Lease struct {
	terms Terms
	until time.Time

	mu    sync.Mutex
	login Login
	armed bool
	going bool // the one submission is under way
}

// NewLease makes a lease for a login that was just filled in.
func NewLease(t Terms, l Login) *Lease {
	x := &Lease{terms: t, until: t.Now().Add(LeaseLife), login: l, armed: t.Armed}
	if t.Armed {
		end := t.Trace.Start(span.CredentialIssue)
		x.tell(Prepared)
		end(false)
	}
	return x
}

// End forgets the login.
func (x *Lease) End() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.armed = false
	x.login.Wipe()
}

// Disarm lets no submission through any more, and goes on holding back the password.
func (x *Lease) Disarm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.armed = false
}

func (x *Lease) tell(p Phase) {
	if x.terms.Tell != nil {
		x.terms.Tell(p)
	}
}

// Judge implements tabs.Judge. Of the requests of the page, those that send something are candidates; the first one uses
// the permission up, whether it fits or not.
func (x *Lease) Judge(r tabs.Request) tabs.Verdict {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.login.Pass == "" {
		return tabs.Ignore
	}
	carries := x.carries(r)
	if !sends(r) {
		if carries {
			return tabs.Refuse
		}
		return tabs.Ignore
	}
	if !x.armed {
		if carries || !r.BodyWhole {
			return tabs.Refuse
		}
		return tabs.Ignore
	}
	x.armed = false
	end := x.terms.Trace.Start(span.CredentialClaim)
	fits := x.fits(r)
	end(!fits)
	if !fits {
		x.tell(Denied)
		return tabs.Refuse
	}
	end = x.terms.Trace.Start(span.CredentialAuthorize)
	x.going = true
	x.tell(Authorized)
	end(false)
	return tabs.Allow
}

// sends says whether a request carries something away by its method.
func sends(r tabs.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// fits says whether this is the one submission that was prepared.
func (x *Lease) fits(r tabs.Request) bool {
	now := x.terms.Now()
	headers := x.terms.Trace.Start(span.CredentialHeaders)
	fine := plainHeaders(r.Header)
	headers(!fine)
	return fine && !now.After(x.until) && r.Tab == x.terms.Tab && r.Document == x.terms.Document && r.Main && r.Kind == tabs.Navigation && r.From == 0 &&
		r.Method == http.MethodPost && r.URL == x.terms.Form.Action && r.Origin == x.terms.Form.Origin() && r.BodyWhole && len(r.Body) <= MaxBody &&
		x.body(r.Body) && x.terms.Still()
}

// plainHeaders wants the one form of a body, and nothing among the rest that inspection would hold back. The site's own
// cookies are its own.
func plainHeaders(h map[string]string) bool {
	kind := ""
	for name, value := range h {
		switch strings.ToLower(name) {
		case "content-type":
			kind = value
		case "cookie":
		default:
			if inspect.Refuses(inspect.Text(name+": "+value), false) {
				return false
			}
		}
	}
	return kind == "application/x-www-form-urlencoded"
}

// body wants exactly the login in its two fields, and nothing in the others that inspection would hold back.
func (x *Lease) body(raw []byte) bool {
	seen := map[string]bool{}
	var rest strings.Builder
	for _, pair := range bytes.Split(raw, []byte("&")) {
		k, v, _ := bytes.Cut(pair, []byte("="))
		name, err1 := url.QueryUnescape(string(k))
		value, err2 := url.QueryUnescape(string(v))
		if err1 != nil || err2 != nil || name == "" || seen[name] || len(seen) == MaxFields {
			return false
		}
		seen[name] = true
		switch name {
		case x.terms.Form.User:
			if value != x.login.User {
				return false
			}
		case x.terms.Form.Pass:
			if value != x.login.Pass {
				return false
			}
		default:
			if strings.Contains(value, x.login.Pass) {
				return false
			}
			rest.WriteString(name + ": " + value + "\n")
		}
	}
	return seen[x.terms.Form.User] && seen[x.terms.Form.Pass] && !inspect.Refuses(inspect.Text(rest.String()), false)
}

// carries says whether the password is in a request in a form that needs no key to read.
func (x *Lease) carries(r tabs.Request) bool {
	text := r.URL + "\n" + string(r.Body)
	for name, value := range r.Header {
		text += "\n" + name + ": " + value
	}
	if unescaped, err := url.QueryUnescape(text); err == nil {
		text += "\n" + unescaped
	}
	pass := x.login.Pass
	forms := []string{pass, url.QueryEscape(pass), url.PathEscape(pass), hex.EncodeToString([]byte(pass)),
		base64.StdEncoding.EncodeToString([]byte(pass)), base64.URLEncoding.EncodeToString([]byte(pass)),
		base64.RawStdEncoding.EncodeToString([]byte(pass)), base64.RawURLEncoding.EncodeToString([]byte(pass)), reversed(pass)}
	for _, f := range forms {
		if len(f) >= 4 && strings.Contains(text, f) {
			return true
		}
	}
	return false
}

func reversed(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// Redirect implements tabs.Judge: an answer may send the browser on by GET, never with the body again.
func (x *Lease) Redirect(status int, method, address string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	end := x.terms.Trace.Start(span.CredentialRedirect)
	fine := status != 307 && status != 308 && (method == "GET" || method == "HEAD") && !x.carries(tabs.Request{URL: address}) && !inspect.Refuses(inspect.Text(address), false)
	end(!fine)
	if !fine && x.going {
		x.going = false
		x.tell(Failed)
	}
	return fine
}

// Done implements tabs.Judge. It tells that HTTP ended, and nothing of whether the login was right.
func (x *Lease) Done(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.going {
		return
	}
	x.going = false
	name, phase := span.CredentialComplete, Completed
	if status == 0 {
		name, phase = span.CredentialFailure, Failed
	}
	end := x.terms.Trace.Start(name)
	x.tell(phase)
	end(status == 0)
}
