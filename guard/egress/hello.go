package egress

import "errors"

// errNotTLS is a tunnel to a web port that begins with something else than TLS.
var errNotTLS = errors.New("it does not speak TLS")

// helloName reads the server's name out of the first record of a TLS connection. Need tells that more bytes are
// wanted. A hello may have an encrypted one inside: browsers send one that hides nothing with every hello (RFC 9849 calls
// it GREASE) and the right name outside; one that does hide a name has another outside, and is refused with it.
func helloName(b []byte) (name string, need bool, err error) {
	if len(b) < 5 {
		return "", true, nil
	}
	if b[0] != 0x16 || b[1] != 3 {
		return "", false, errNotTLS
	}
	n := int(b[3])<<8 | int(b[4])
	if n < 4 || n > 1<<14 {
		return "", false, errNotTLS
	}
	if len(b) < 5+n {
		return "", true, nil
	}
	r := cursor{b: b[5 : 5+n]}
	if kind := r.take(1); kind == nil || kind[0] != 1 {
		return "", false, errNotTLS
	}
	body := r.sized(3)
	if body == nil {
		// The hello goes on in the next record: that much fits into no tunnel of ours.
		return "", false, errNotTLS
	}
	h := cursor{b: body}
	h.take(2 + 32)
	h.sized(1)
	h.sized(2)
	h.sized(1)
	extensions := cursor{b: h.sized(2)}
	if h.bad {
		return "", false, errNotTLS
	}
	for len(extensions.b) > 0 && !extensions.bad {
		kind, value := extensions.take(2), extensions.sized(2)
		if kind == nil || value == nil && extensions.bad {
			break
		}
		if kind[0] == 0 && kind[1] == 0 {
			list := cursor{b: value}
			names := cursor{b: list.sized(2)}
			if t := names.take(1); t != nil && t[0] == 0 {
				name = string(names.sized(2))
			}
		}
	}
	if extensions.bad {
		return "", false, errNotTLS
	}
	return name, false, nil
}

// cursor reads lengths and what they announce.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || len(c.b) < n {
		c.bad = true
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) sized(width int) []byte {
	n := 0
	for _, d := range c.take(width) {
		n = n<<8 | int(d)
	}
	return c.take(n)
}
