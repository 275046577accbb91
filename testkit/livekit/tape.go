package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pion/opus"
	"github.com/pion/opus/pkg/oggreader"
	"github.com/pion/webrtc/v4"
)

// rate is the sample rate of everything here, in Hz, mono.
const rate = 48000

// packet is 20 ms of sound and how loud it is, in dB below full scale: LiveKit finds out from that who speaks.
type packet struct {
	payload []byte
	level   uint8
}

// level measures samples; 127 is silence.
func level(pcm []int16) uint8 {
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	rms := math.Sqrt(sum/float64(max(1, len(pcm)))) / 32768
	if rms == 0 {
		return 127
	}
	return uint8(min(127, math.Round(-20*math.Log10(rms))))
}

// encode makes Opus packets of 20 ms of a file of any format that ffmpeg reads.
func encode(ctx context.Context, file string) ([]packet, error) {
	cmd := exec.CommandContext(ctx, "ffmpeg", "-hide_banner", "-nostdin", "-v", "error", "-i", file, "-vn", "-ac", "1", "-ar", fmt.Sprint(rate),
		"-c:a", "libopus", "-b:a", "64k", "-frame_duration", "20", "-f", "ogg", "pipe:1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: %w: %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	ogg, _, err := oggreader.NewWith(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	decoder, err := opus.NewDecoderWithOutput(rate, 1)
	if err != nil {
		return nil, err
	}
	pcm := make([]int16, rate*120/1000)
	var packets []packet
	for {
		p, _, err := ogg.ParseNextPacket()
		if errors.Is(err, io.EOF) {
			return packets, nil
		}
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(p, []byte("OpusTags")) {
			n, err := decoder.DecodeToInt16(p, pcm)
			if err != nil {
				return nil, err
			}
			packets = append(packets, packet{bytes.Clone(p), level(pcm[:n])})
		}
	}
}

// tape holds what was heard, mixed on one timeline from start on.
type tape struct {
	start time.Time
	mu    sync.Mutex
	sum   []int32
}

// maxTape bounds it: tests are short.
const maxTape = 2 * 3600 * rate

// hear decodes a track until it ends. Its first packet fixes where it lies; its own clock decides from then on.
func (t *tape) hear(track *webrtc.TrackRemote) {
	decoder, err := opus.NewDecoderWithOutput(rate, 1)
	if err != nil {
		return
	}
	pcm := make([]int16, rate*120/1000)
	var first uint32
	at := -1
	for {
		p, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		if len(p.Payload) == 0 {
			continue
		}
		n, err := decoder.DecodeToInt16(p.Payload, pcm)
		if err != nil {
			continue
		}
		now := int(time.Since(t.start).Seconds()*rate) - n
		if at < 0 {
			first, at = p.Timestamp, now
		}
		place := at + int(int32(p.Timestamp-first))
		if off := now - place; off > rate/3 || off < -rate/3 {
			first, at, place = p.Timestamp, now, now
		}
		t.add(place, pcm[:n])
	}
}

func (t *tape) add(at int, pcm []int16) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < 0 || at+len(pcm) > maxTape {
		return
	}
	if need := at + len(pcm) - len(t.sum); need > 0 {
		t.sum = append(t.sum, make([]int32, need)...)
	}
	for i, s := range pcm {
		t.sum[at+i] += int32(s)
	}
}

// write makes a WAV file of the tape.
func (t *tape) write(file string) (seconds float64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pcm := make([]int16, len(t.sum))
	for i, s := range t.sum {
		pcm[i] = int16(max(-32768, min(32767, s)))
	}
	size := uint32(2 * len(pcm))
	var b bytes.Buffer
	b.WriteString("RIFF")
	for _, part := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16), []byte("data"), size, pcm} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return 0, err
		}
	}
	return float64(len(pcm)) / rate, os.WriteFile(file, b.Bytes(), 0o600)
}
