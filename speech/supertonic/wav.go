package supertonic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"parley/audio"
)

// The rates that are believed.
const (
	minRate = 8_000
	maxRate = 96_000
)

// errWAV says that an answer is no sound that we can read.
var errWAV = errors.New("the service's answer is no 16-bit WAV")

// readWAV gives the samples of a WAV at the speaking rate, mono. The lengths in its head are not trusted: a service that
// streams does not know them.
func readWAV(r io.Reader) ([]int16, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "RIFF" || string(head[8:]) != "WAVE" {
		return nil, errWAV
	}
	rate, channels := 0, 0
	for {
		var chunk [8]byte
		if _, err := io.ReadFull(r, chunk[:]); err != nil {
			return nil, errWAV
		}
		size := binary.LittleEndian.Uint32(chunk[4:])
		switch string(chunk[:4]) {
		case "fmt ":
			if size < 16 || size > 1024 {
				return nil, errWAV
			}
			raw := make([]byte, size+size%2)
			if _, err := io.ReadFull(r, raw); err != nil {
				return nil, errWAV
			}
			format := binary.LittleEndian.Uint16(raw)
			channels, rate = int(binary.LittleEndian.Uint16(raw[2:])), int(binary.LittleEndian.Uint32(raw[4:]))
			if format != 1 && format != 0xfffe || binary.LittleEndian.Uint16(raw[14:]) != 16 ||
				channels < 1 || channels > 8 || rate < minRate || rate > maxRate {
				return nil, errWAV
			}
		case "data":
			if rate == 0 {
				return nil, errWAV
			}
			return samples(r, rate, channels)
		default:
			if size > 1<<20 {
				return nil, errWAV
			}
			if _, err := io.CopyN(io.Discard, r, int64(size+size%2)); err != nil {
				return nil, errWAV
			}
		}
	}
}

// samples reads to the end, mixes to one channel and brings it to the speaking rate.
func samples(r io.Reader, rate, channels int) ([]int16, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the sound broke off: %w", err)
	}
	if len(raw) > maxAudio-64 {
		return nil, errors.New("the service's answer is too long")
	}
	frame := 2 * channels
	pcm := make([]int16, len(raw)/frame)
	for i := range pcm {
		sum := 0
		for c := range channels {
			sum += int(int16(binary.LittleEndian.Uint16(raw[i*frame+2*c:])))
		}
		pcm[i] = int16(sum / channels)
	}
	re, err := audio.NewResampler(rate, audio.SpeakRate)
	if err != nil {
		return nil, errWAV
	}
	return re.Flush(re.Append(nil, pcm)), nil
}
