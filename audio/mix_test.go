package audio

import (
	"slices"
	"testing"
	"time"
)

var mixBegan = time.Unix(100, 0)

// ones is a frame of samples of one value, that arrived when its end was due, and some time after.
func ones(value int16, pos, n int64, trackBegan, after time.Duration) Frame {
	pcm := slices.Repeat([]int16{value}, int(n))
	return Frame{Pos: pos, PCM: pcm, At: mixBegan.Add(trackBegan + time.Duration(pos+n)*time.Second/16000 + after)}
}

func mixed(m *Mixer, until time.Duration) (pcm []int16) {
	m.Advance(mixBegan.Add(until), func(f Frame) {
		if f.Pos != int64(len(pcm)) {
			panic("frames do not follow one another")
		}
		pcm = append(pcm, f.PCM...)
	})
	return pcm
}

func TestTracksAreAddedWhereTheyBelong(t *testing.T) {
	m := NewMixer(16000, 60*time.Millisecond, mixBegan)
	m.Write("a", ones(1, 0, 1600, 0, 0))
	m.Write("b", ones(10, 0, 800, 50*time.Millisecond, 0)) // begins 50 ms later
	m.Write("b", ones(10, 800, 800, 50*time.Millisecond, 30*time.Millisecond))
	pcm := mixed(m, 300*time.Millisecond)
	if len(pcm) != 240*16 {
		t.Fatalf("%d samples", len(pcm))
	}
	for i, want := range map[int]int16{0: 1, 799: 1, 800: 11, 1599: 11, 1600: 10, 2399: 10, 2400: 0} {
		if pcm[i] != want {
			t.Errorf("sample %d is %d, want %d", i, pcm[i], want)
		}
	}
	if m.Late() != 0 {
		t.Errorf("%d late", m.Late())
	}
}

func TestLoudTracksDoNotWrapAround(t *testing.T) {
	m := NewMixer(16000, 0, mixBegan)
	for _, name := range []string{"a", "b", "c"} {
		m.Write(name, ones(20000, 0, 320, 0, 0))
		m.Write(name, ones(-20000, 320, 320, 0, 0))
	}
	if pcm := mixed(m, 200*time.Millisecond); pcm[0] != 32767 || pcm[320] != -32768 {
		t.Errorf("%d %d", pcm[0], pcm[320])
	}
}

func TestWhatComesTooLateIsCounted(t *testing.T) {
	m := NewMixer(16000, 60*time.Millisecond, mixBegan)
	m.Write("a", ones(1, 0, 320, 0, 0))
	mixed(m, 200*time.Millisecond)
	m.Write("a", ones(1, 320, 320, 0, 120*time.Millisecond))
	if m.Late() != 320 {
		t.Errorf("%d late", m.Late())
	}
	// A track that went away and came again with new positions is put where it arrives.
	m.Write("a", ones(5, 0, 320, 200*time.Millisecond, 0))
	m.Remove("a")
	if pcm := mixedFrom(m, 400*time.Millisecond); !slices.Contains(pcm, 5) {
		t.Error("the track that came again is not there")
	}
	// Nor does a position of nonsense take memory.
	m.Write("b", ones(1, 1<<50, 10, 0, 0))
}

func mixedFrom(m *Mixer, until time.Duration) (pcm []int16) {
	m.Advance(mixBegan.Add(until), func(f Frame) { pcm = append(pcm, f.PCM...) })
	return pcm
}
