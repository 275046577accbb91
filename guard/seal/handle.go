package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Handle stands in a text where a secret was: "⟦password:7f3a19c2b0de@mail.example.com⟧". It says what it was and
// where it was read, and nothing of its value.
type Handle struct {
	Kind Kind
	ID   string // 12 hex digits
	Host string
}

const idLen = 12

func (h Handle) String() string { return open + string(h.Kind) + ":" + h.ID + "@" + h.Host + close }

// ParseHandle reads a handle. That a text is a well-formed handle does not mean that anybody made it.
func ParseHandle(s string) (Handle, bool) {
	body, ok := strings.CutPrefix(s, open)
	if !ok {
		return Handle{}, false
	}
	if body, ok = strings.CutSuffix(body, close); !ok {
		return Handle{}, false
	}
	kind, rest, ok := strings.Cut(body, ":")
	if !ok {
		return Handle{}, false
	}
	id, host, ok := strings.Cut(rest, "@")
	if !ok || len(kind) < 2 || len(kind) > 20 || len(id) != idLen || host == "" || len(host) > 253 ||
		strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz-") != "" || strings.Trim(id, "0123456789abcdef") != "" ||
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]_") != "" {
		return Handle{}, false
	}
	return Handle{Kind(kind), id, host}, true
}

// hostName makes a host fit for a handle.
func hostName(host string) string {
	h := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-:[]_", r) {
			return r
		}
		return '_'
	}, strings.ToLower(host))
	if len(h) > 253 {
		h = h[:253]
	}
	if h == "" {
		return "unknown"
	}
	return h
}

// mint makes ids. Its key is drawn once, never leaves, and is never part of any text: nobody outside can make an
// id that resolves, and equal secrets of one owner get equal handles.
type mint struct{ key [32]byte }

func newMint() *mint {
	m := &mint{}
	rand.Read(m.key[:]) // never fails
	return m
}

func (m *mint) id(kind Kind, owner, host string, value []byte) string {
	h := hmac.New(sha256.New, m.key[:])
	for _, part := range [...]string{string(kind), owner, host} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil))[:idLen]
}

// replace writes a text with its findings replaced by handles.
func replace(text string, found []Finding, handle func(Finding, string) Handle) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 48*len(found))
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		if f.Head > 0 {
			b.WriteString(text[f.Start:f.Start+f.Head] + "…")
		}
		b.WriteString(handle(f, text[f.Start:f.End]).String())
		if f.Tail > 0 {
			b.WriteString("…" + text[f.End-f.Tail:f.End])
		}
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}
