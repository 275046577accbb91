package seal

import (
	"strings"

	"parley/tenant"
)

// Sealer takes secrets out of texts on their way to a client. It keeps no value and has no way to give one back.
// Handles that others made it leaves alone, so sealing twice is sealing once. Safe for concurrent use.
type Sealer struct {
	mint *mint
	host string
}

// NewSealer makes one. Host is what its handles name as the place where the secret was read.
func NewSealer(host string) *Sealer { return &Sealer{newMint(), hostName(host)} }

// Seal replaces the secrets of a text; it is a tool.Options.Seal.
func (s *Sealer) Seal(t tenant.ID, text string) string {
	return replace(text, Find(text), func(f Finding, value string) Handle {
		return Handle{f.Kind, s.mint.id(f.Kind, string(t), s.host, []byte(value)), s.host}
	})
}

// SealKeyed does the same to a value of structured data, whose key may say what it is.
func (s *Sealer) SealKeyed(t tenant.ID, key, value string) string {
	return replace(value, FindKeyed(key, value), func(f Finding, v string) Handle {
		return Handle{f.Kind, s.mint.id(f.Kind, string(t), s.host, []byte(v)), s.host}
	})
}

// strict rewrites every bracket that is not part of a handle its vault knows.
func strict(text string, known func(Handle) bool) string {
	if !strings.ContainsAny(text, open+close+"〚〛") {
		return text
	}
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, open+close+"〚〛")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if n := handleLen(text); n > 0 {
			if h, _ := ParseHandle(text[:n]); known(h) {
				b.WriteString(text[:n])
				text = text[n:]
				continue
			}
		}
		// All four are three bytes long.
		if c := text[:3]; c == open || c == "〚" {
			b.WriteByte('[')
		} else {
			b.WriteByte(']')
		}
		text = text[3:]
	}
	return b.String() + text
}
