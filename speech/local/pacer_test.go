package local

import "testing"

// messages counts what a second of a level makes, after what came before.
func (p *pacer) messages(level int16, chunks int) (sent int) {
	pcm := make([]int16, 320)
	for i := range pcm {
		pcm[i] = level * int16(1-2*(i%2))
	}
	pending := 0
	for range chunks {
		pending += len(pcm)
		if p.due(pcm, pending) {
			sent++
			pending = 0
		}
	}
	return sent
}

func TestPacer(t *testing.T) {
	for _, c := range []struct {
		name        string
		background  int16
		least, most int
		then        int16
	}{
		{"silence", 0, 5, 5, 0},
		{"a steady background", 300, 5, 5, 300},
		{"speech", 0, 9, 12, 3000},
		{"speech over a background", 300, 9, 12, 3000},
	} {
		var p pacer
		p.messages(c.background, 150)
		if got := p.messages(c.then, 50); got < c.least || got > c.most {
			t.Errorf("%s: %d messages a second", c.name, got)
		}
	}
}

func TestPacerIsQuickWhenSomethingChanges(t *testing.T) {
	var p pacer
	p.messages(10, 150)
	if got := p.messages(3000, 2); got != 1 {
		t.Errorf("the beginning of speech: %d messages in 40 ms", got)
	}
	p.messages(3000, 50)
	if got := p.messages(10, 2); got != 1 {
		t.Errorf("the end of speech: %d messages in 40 ms", got)
	}
	// The whole pause that may end the segment is followed closely.
	if got := p.messages(10, 40); got < 19 {
		t.Errorf("the pause: %d messages in 800 ms", got)
	}
	p.messages(10, 50)
	if got := p.messages(10, 50); got > 6 {
		t.Errorf("long after: %d messages a second", got)
	}
}

func TestPacerGetsUsedToABackground(t *testing.T) {
	var p pacer
	p.messages(20, 100)
	p.messages(200, 1000) // an air condition, switched on: 20 dB louder
	if got := p.messages(200, 50); got > 6 {
		t.Errorf("%d messages a second", got)
	}
}
