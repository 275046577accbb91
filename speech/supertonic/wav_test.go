package supertonic

import (
	"bytes"
	"testing"
)

func FuzzReadWAV(f *testing.F) {
	f.Add([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\xff\xff\xff\x7f\x01\x00\x02\x00"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVELIST\x02\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		pcm, err := readWAV(bytes.NewReader(raw))
		if err == nil && len(pcm) > 6*len(raw)+100 {
			t.Errorf("%d bytes gave %d samples", len(raw), len(pcm))
		}
	})
}
