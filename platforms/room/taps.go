package room

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"parley/meeting"
)

// maxBatch bounds the samples of one batch: taps.js sends 640.
const maxBatch = 4096

// tapped is a batch of a participant's sound as taps.js sends it.
type tapped struct {
	Person string `json:"person"`
	Track  string `json:"track"`
	Pos    int64  `json:"pos"`
	PCM    string `json:"pcm"` // base64 of little-endian s16
	Ended  bool   `json:"ended"`
}

// hear passes on what the taps send.
func (c *Call) hear(ctx context.Context, taps <-chan json.RawMessage) {
	defer c.tracks.Close()
	for {
		select {
		case raw, ok := <-taps:
			if !ok {
				return
			}
			f, err := decodeTap(raw)
			if err != nil {
				c.log.Warn("unreadable sound of a track", "error", err)
				continue
			}
			if len(f.PCM) == 0 {
				continue
			}
			c.read(func(s *state) { f.Name = s.people[f.Participant].Name })
			f.At = time.Now()
			c.tracks.Put(f)
		case <-ctx.Done():
			return
		}
	}
}

func decodeTap(raw json.RawMessage) (meeting.TrackFrame, error) {
	var t tapped
	if err := json.Unmarshal(raw, &t); err != nil {
		return meeting.TrackFrame{}, err
	}
	if len(t.PCM) > base64.StdEncoding.EncodedLen(maxBatch*2) || t.Pos < 0 {
		return meeting.TrackFrame{}, errors.New("a batch out of bounds")
	}
	bytes, err := base64.StdEncoding.DecodeString(t.PCM)
	if err != nil || len(bytes)%2 != 0 {
		return meeting.TrackFrame{}, errors.New("a batch that is no samples")
	}
	f := meeting.TrackFrame{Participant: t.Person, Track: t.Track, Pos: t.Pos, PCM: make([]int16, len(bytes)/2)}
	for i := range f.PCM {
		f.PCM[i] = int16(binary.LittleEndian.Uint16(bytes[2*i:]))
	}
	return f, nil
}
