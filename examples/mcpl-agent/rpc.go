package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// wire carries whole messages.
type wire interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, b []byte) error
	Close() error
}

// maxMessage is the largest that we read.
const maxMessage = 4 << 20

// socket is a wire over a WebSocket.
type socket struct{ ws *websocket.Conn }

// dial connects to the service. The token goes into a header: it would be logged by others in an address.
func dial(ctx context.Context, url, token string) (wire, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusUnauthorized {
			return nil, errors.New("the service does not know this token (PARLEY_TOKEN)")
		}
		return nil, fmt.Errorf("connect to the service: %w", err)
	}
	ws.SetReadLimit(maxMessage)
	return socket{ws}, nil
}

func (s socket) Read(ctx context.Context) ([]byte, error) {
	_, b, err := s.ws.Read(ctx)
	return b, err
}

func (s socket) Write(ctx context.Context, b []byte) error {
	return s.ws.Write(ctx, websocket.MessageText, b)
}

func (s socket) Close() error { return s.ws.Close(websocket.StatusNormalClosure, "") }

// pipe is a wire over the stdin and stdout of a program, such as "parley stdio".
type pipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// spawn starts the program.
func spawn(command []string) (wire, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us: we leave first
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	return &pipe{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

func (p *pipe) Read(context.Context) ([]byte, error) { return p.out.ReadBytes('\n') }

func (p *pipe) Write(_ context.Context, b []byte) error {
	_, err := p.in.Write(append(b, '\n'))
	return err
}

// Close ends the program's input, which is how it is told to leave its meetings, and waits for its end.
func (p *pipe) Close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// message is any message of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is its text.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// peer sends and receives over a wire. Both sides number their own requests.
type peer struct {
	wire wire
	// serve answers what the other side asks, in the order in which it does, and must not wait. A notification has no answer.
	serve func(method string, params json.RawMessage) (any, *rpcError)

	done chan struct{} // closed when nothing is read any more

	mu      sync.Mutex
	next    int
	pending map[string]chan message
}

func newPeer(w wire) *peer {
	return &peer{wire: w, done: make(chan struct{}), pending: map[string]chan message{}}
}

// run reads until the connection ends.
func (p *peer) run(ctx context.Context) error {
	defer close(p.done)
	for {
		b, err := p.wire.Read(ctx)
		if err != nil {
			return err
		}
		var m message
		if json.Unmarshal(b, &m) != nil {
			continue
		}
		if m.Method == "" {
			p.mu.Lock()
			wait := p.pending[string(m.ID)]
			delete(p.pending, string(m.ID))
			p.mu.Unlock()
			if wait != nil {
				wait <- m
			}
			continue
		}
		result, e := p.serve(m.Method, m.Params)
		if m.ID == nil {
			continue
		}
		answer := message{ID: m.ID, Error: e}
		if e == nil {
			if answer.Result, err = json.Marshal(result); err != nil {
				return err
			}
		}
		if err := p.send(ctx, answer); err != nil {
			return err
		}
	}
}

func (p *peer) send(ctx context.Context, m message) error {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wire.Write(ctx, b)
}

// notify sends a notification.
func (p *peer) notify(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return p.send(ctx, message{Method: method, Params: raw})
}

// call sends a request and reads its result into result, which may be nil.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	wait := make(chan message, 1)
	p.mu.Lock()
	id := fmt.Sprint(p.next)
	p.next++
	p.pending[id] = wait
	p.mu.Unlock()
	if err := p.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-wait:
		switch {
		case m.Error != nil:
			return fmt.Errorf("%s: %w", method, m.Error)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-p.done:
		return fmt.Errorf("%s: the connection ended", method)
	case <-ctx.Done():
		return ctx.Err()
	}
}
