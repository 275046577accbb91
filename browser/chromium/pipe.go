package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"
)

// pipe carries the browser's debugging protocol over two descriptors: JSON messages that end with a NUL.
// No port is open, so nobody else on the machine can drive the browser.
type pipe struct {
	in *bufio.Reader

	mu  sync.Mutex
	out *os.File
	bad error // why the write side is of no more use
}

// sendDeadline bounds a write to a browser that reads no more. Half a message breaks the framing, so that the
// pipe is dead after it.
const sendDeadline = 10 * time.Second

// maxMessage bounds one message; the largest real ones are pictures of a page. A page can make a longer one (a text of
// hundreds of megabytes): it is read past, and whoever waits for it gets an error.
const maxMessage = 24 << 20

func newPipe(in, out *os.File) *pipe { return &pipe{in: bufio.NewReaderSize(in, 64<<10), out: out} }

// Send writes one message.
func (p *pipe) Send(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad != nil {
		return p.bad
	}
	framed := make([]byte, 0, len(message)+1)
	framed = append(append(framed, message...), 0)
	_ = p.out.SetWriteDeadline(time.Now().Add(sendDeadline)) // an error here shows in Write as well
	if _, err := p.out.Write(framed); err != nil {
		p.bad = fmt.Errorf("write to the browser: %w", err)
		return p.bad
	}
	return nil
}

// Read gives the next message. The protocol client does not survive what is not JSON, so it ends here.
func (p *pipe) Read() ([]byte, error) {
	var message []byte
	for {
		chunk, err := p.in.ReadSlice(0)
		message = append(message, chunk...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(message) > maxMessage {
				return p.readPast(message[:min(len(message), 4096)])
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("read from the browser: %w", err)
		}
		message = message[:len(message)-1]
		if !json.Valid(message) {
			return nil, errors.New("the browser sent what is not JSON")
		}
		return message, nil
	}
}

// idOf finds the number of the request that an answer begins with.
var idOf = regexp.MustCompile(`^\{"id":([0-9]+)[,}]`)

// readPast reads the rest of a message that is too long without keeping it, and gives an error in its place: to the call
// that it answers, or, of an event, to nobody.
func (p *pipe) readPast(head []byte) ([]byte, error) {
	head = bytes.Clone(head)
	for {
		_, err := p.in.ReadSlice(0)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, fmt.Errorf("read from the browser: %w", err)
		}
		if m := idOf.FindSubmatch(head); m != nil {
			return fmt.Appendf(nil, `{"id":%s,"error":{"code":-32000,"message":%q}}`, m[1], TooLong), nil
		}
		return []byte(`{"method":"Parley.tooLong","params":{}}`), nil
	}
}

// TooLong is the message of the error in place of an answer that is too long.
const TooLong = "the answer is too long"
