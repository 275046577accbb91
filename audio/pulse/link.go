package pulse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jfreymuth/pulse/proto"
)

// ErrServerGone means that the connection to the sound server ended: it died, or was closed.
var ErrServerGone = errors.New("the sound server is gone")

// requestTimeout bounds every request and every write: a wedged server must not hold anybody.
const requestTimeout = 2 * time.Second

// maxPacket bounds what we accept in one piece; the server itself sends at most 64 KiB.
const maxPacket = 1 << 20

// link is one connection with one stream at most. Audio goes straight to data; the replies and messages go
// through the proto package, which only ever sees whole packets of kinds it knows: it loops for ever on a list
// that is cut short, and prints what it does not know to the standard output.
type link struct {
	client  *proto.Client
	conn    net.Conn
	data    func([]byte) // audio from the server, on the reading goroutine; valid until it returns
	packet  []byte       // what is left of the packet that proto is reading
	header  [packetHeader]byte
	scratch []byte
	out     []byte // a packet being put together for one write; guarded by proto's write lock
	seek    *seek  // where the next audio packet goes; set and used by the one goroutine that sends audio
	down    sync.Once
	done    chan struct{} // closed when the link broke
	ended   chan struct{} // closed when the reading goroutine has ended
	cause   atomic.Pointer[error]
}

const (
	packetHeader   = 20
	commandChannel = 0xFFFFFFFF
)

// dial connects and introduces us. message gets what the server says unasked; both callbacks run on the reading
// goroutine and must not wait nor make requests.
func dial(ctx context.Context, socket, name string, data func([]byte), message func(any)) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the sound server: %w", err)
	}
	l := &link{conn: conn, data: data, done: make(chan struct{}), ended: make(chan struct{})}
	l.client = &proto.Client{Callback: func(m any) {
		if _, ok := m.(*proto.ConnectionClosed); ok {
			close(l.ended) // the last thing the reading goroutine does
		} else if message != nil {
			message(m)
		}
	}}
	l.client.SetTimeout(requestTimeout)
	l.client.Open(l)

	// The server asks for no cookie (its folder is ours alone), but the field has its size.
	var auth proto.AuthReply
	if err := l.client.Request(&proto.Auth{Version: l.client.Version(), Cookie: make([]byte, 256)}, &auth); err != nil {
		l.close()
		return nil, fmt.Errorf("greet the sound server: %w", err)
	}
	l.client.SetVersion(auth.Version)
	props := proto.PropList{
		"application.name":       proto.PropListString(name),
		"application.process.id": proto.PropListString(strconv.Itoa(os.Getpid())),
	}
	if err := l.client.Request(&proto.SetClientName{Props: props}, &proto.SetClientNameReply{}); err != nil {
		l.close()
		return nil, fmt.Errorf("introduce us to the sound server: %w", err)
	}
	return l, nil
}

// request asks the server. After the link broke the error is ErrServerGone.
func (l *link) request(what string, req proto.RequestArgs, reply proto.Reply) error {
	err := l.client.Request(req, reply)
	if err == nil {
		return nil
	}
	select {
	case <-l.done:
		return fmt.Errorf("%s: %w", what, l.err())
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// seek says where in a stream's queue audio goes. The protocol has it, the proto package has not.
type seek struct {
	mode   uint32
	offset int64
}

const (
	seekAbsolute = 1
	seekOnRead   = 2 // from what the sink takes next
)

// sendAt sends audio to a place in a stream's queue, over what lies there.
func (l *link) sendAt(stream uint32, at seek, pcm []byte) error {
	l.seek = &at
	err := l.send(stream, pcm)
	l.seek = nil
	return err
}

// send appends audio to a stream's queue. Only one goroutine at a time may send audio.
func (l *link) send(stream uint32, pcm []byte) error {
	if err := l.client.Send(stream, pcm); err != nil {
		return l.err()
	}
	select {
	case <-l.done:
		return l.err()
	default:
		return nil
	}
}

func (l *link) err() error {
	if p := l.cause.Load(); p != nil {
		return fmt.Errorf("%w: %w", ErrServerGone, *p)
	}
	return ErrServerGone
}

// Read gives proto whole command packets, one after another, and hands audio to data on the way.
func (l *link) Read(p []byte) (int, error) {
	for len(l.packet) == 0 {
		if err := l.next(); err != nil {
			l.fail(err)
			return 0, io.EOF // the one end that proto tells its callback about
		}
	}
	n := copy(p, l.packet)
	l.packet = l.packet[n:]
	return n, nil
}

func (l *link) next() error {
	if _, err := io.ReadFull(l.conn, l.header[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(l.header[0:])
	channel := binary.BigEndian.Uint32(l.header[4:])
	if length > maxPacket {
		return fmt.Errorf("packet of %d bytes", length)
	}
	need := packetHeader + int(length)
	if cap(l.scratch) < need {
		l.scratch = make([]byte, need)
	}
	l.scratch = l.scratch[:need]
	copy(l.scratch, l.header[:])
	body := l.scratch[packetHeader:]
	if _, err := io.ReadFull(l.conn, body); err != nil {
		return err
	}
	if channel != commandChannel {
		if l.data != nil {
			l.data(body)
		}
		return nil
	}
	if len(body) < 10 || !known(binary.BigEndian.Uint32(body[1:])) {
		return nil
	}
	l.packet = l.scratch
	return nil
}

// known lists what proto can read from a server.
func known(op uint32) bool {
	switch op {
	case proto.OpError, proto.OpReply, proto.OpRequest, proto.OpOverflow, proto.OpUnderflow,
		proto.OpPlaybackStreamKilled, proto.OpRecordStreamKilled, proto.OpSubscribeEvent,
		proto.OpPlaybackStreamSuspended, proto.OpRecordStreamSuspended,
		proto.OpPlaybackStreamMoved, proto.OpRecordStreamMoved, proto.OpClientEvent,
		proto.OpPlaybackStreamEvent, proto.OpRecordStreamEvent, proto.OpStarted, proto.OpPlaybackBufferAttrChanged:
		return true
	}
	return false
}

// Write gathers what proto writes in two pieces into one packet, and bounds the time.
func (l *link) Write(p []byte) (int, error) {
	l.out = append(l.out, p...)
	if len(l.out) < packetHeader || len(l.out) < packetHeader+int(binary.BigEndian.Uint32(l.out)) {
		return len(p), nil
	}
	if binary.BigEndian.Uint32(l.out[4:]) != commandChannel && l.seek != nil {
		binary.BigEndian.PutUint64(l.out[8:], uint64(l.seek.offset))
		binary.BigEndian.PutUint32(l.out[16:], l.seek.mode)
	}
	err := l.conn.SetWriteDeadline(time.Now().Add(requestTimeout))
	if err == nil {
		_, err = l.conn.Write(l.out)
	}
	l.out = l.out[:0]
	if err != nil {
		l.fail(err)
		return 0, err
	}
	return len(p), nil
}

func (l *link) fail(err error) {
	l.down.Do(func() {
		l.cause.Store(&err)
		close(l.done)
		_ = l.conn.Close() // the reason is kept already
	})
}

// close ends the link and waits for its reading goroutine, which must not call it. Whoever waits for an answer
// gets ErrServerGone.
func (l *link) close() {
	l.fail(net.ErrClosed)
	<-l.ended
}
