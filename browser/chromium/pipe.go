package chromium

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// maxMessage bounds one message; the largest real ones are pictures of a page.
const maxMessage = 256 << 20

var errMessageTooLong = errors.New("debugging message too long")

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
				return nil, errMessageTooLong
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
