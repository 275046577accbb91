package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"parley/speech"
)

// ErrFrame means that the peer does not speak this protocol; the connection cannot go on.
var ErrFrame = errors.New("speech wire: malformed frame")

// Reader reads frames. Its memory is one frame, however the peer behaves.
type Reader struct {
	r   *bufio.Reader
	buf []byte
}

// NewReader reads frames from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 32<<10)} }

// Next gives the next frame. The body is valid until the next call. io.EOF only between frames.
func (r *Reader) Next() (Type, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:1]); err != nil {
		return 0, nil, err
	}
	if _, err := io.ReadFull(r.r, head[1:]); err != nil {
		return 0, nil, cut(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxBody {
		return 0, nil, fmt.Errorf("%w: %d bytes announced, %d allowed", ErrFrame, n, MaxBody)
	}
	body, err := r.body(int(n))
	if err != nil {
		return 0, nil, cut(err)
	}
	return Type(head[0]), body, nil
}

// body grows with what really arrives, not with what was announced.
func (r *Reader) body(n int) ([]byte, error) {
	r.buf = r.buf[:0]
	for len(r.buf) < n {
		step := min(n-len(r.buf), 64<<10)
		at := len(r.buf)
		r.buf = append(r.buf, make([]byte, step)...)
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			return nil, err
		}
	}
	return r.buf, nil
}

// cut keeps a connection that ended inside a frame apart from one that ended.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append adds a frame to b. A body over MaxBody is a defect of the caller.
func Append(b []byte, t Type, body []byte) []byte {
	if len(body) > MaxBody {
		panic(fmt.Sprintf("speech wire: a body of %d bytes", len(body)))
	}
	b = append(b, byte(t))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

// AppendJSON adds a frame with v as its body.
func AppendJSON(b []byte, t Type, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // every type above marshals, but for a NaN from a model
		body, _ = json.Marshal(Fault{Kind: speech.KindInternal, Text: "an answer that JSON cannot carry"})
		t = TypeFault
	}
	return Append(b, t, body)
}

// Parse reads a JSON body.
func Parse[T any](body []byte) (T, error) {
	var v T
	if len(body) > maxJSON {
		return v, fmt.Errorf("%w: %d bytes of JSON", ErrFrame, len(body))
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("%w: %v", ErrFrame, err)
	}
	return v, nil
}

// MaxAudio is how many samples AppendAudio takes at once.
const MaxAudio = 16000

// AppendAudio adds samples that begin at pos.
func AppendAudio(b []byte, pos int64, pcm []int16) []byte {
	b = append(b, byte(TypeAudio))
	b = binary.BigEndian.AppendUint32(b, uint32(8+2*len(pcm)))
	b = binary.LittleEndian.AppendUint64(b, uint64(pos))
	return appendPCM(b, pcm)
}

// ParseAudio reads an Audio body into a new slice.
func ParseAudio(body []byte) (pos int64, pcm []int16, err error) {
	if len(body) < 8 || len(body)%2 != 0 || (len(body)-8)/2 > MaxAudio {
		return 0, nil, fmt.Errorf("%w: %d bytes of audio", ErrFrame, len(body))
	}
	u := binary.LittleEndian.Uint64(body)
	if u > math.MaxInt64-MaxAudio {
		return 0, nil, fmt.Errorf("%w: position %d", ErrFrame, u)
	}
	return int64(u), pcmOf(body[8:]), nil
}

// AppendPiece adds a piece of speech.
func AppendPiece(b []byte, text string, pcm []int16) []byte {
	text = text[:min(len(text), math.MaxUint16)]
	b = append(b, byte(TypePiece))
	b = binary.BigEndian.AppendUint32(b, uint32(2+len(text)+2*len(pcm)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	b = append(b, text...)
	return appendPCM(b, pcm)
}

// MaxPiece is how many samples a piece may have beside the longest text.
const MaxPiece = (MaxBody - 2 - math.MaxUint16) / 2

// ParsePiece reads a Piece body into new memory.
func ParsePiece(body []byte) (text string, pcm []int16, err error) {
	if len(body) < 2 {
		return "", nil, fmt.Errorf("%w: %d bytes of a piece", ErrFrame, len(body))
	}
	n := int(binary.LittleEndian.Uint16(body))
	body = body[2:]
	if n > len(body) || (len(body)-n)%2 != 0 {
		return "", nil, fmt.Errorf("%w: a piece with %d bytes of text in %d", ErrFrame, n, len(body))
	}
	return string(body[:n]), pcmOf(body[n:]), nil
}

func pcmOf(b []byte) []int16 {
	pcm := make([]int16, len(b)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return pcm
}

func appendPCM(b []byte, pcm []int16) []byte {
	for _, s := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}
