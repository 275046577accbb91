package guest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/guard/spawn"
)

// recorder writes what the guest hears to a file, in step with the clock: a second of the meeting is a second of the
// file, whether anybody spoke or not.
type recorder struct {
	file  string
	start time.Time
	out   sink

	mu     sync.Mutex
	mix    mix
	places map[string]*place

	err error // of the writing; read after run
}

// recordLag is how long sound may be under way before its place in the file is written.
const recordLag = 500 * time.Millisecond

// sink is where a recording goes.
type sink interface {
	io.Writer
	// Close finishes the file.
	Close() error
}

// newRecorder begins a file: Ogg/Opus for .ogg and .opus, WAV for .wav.
func newRecorder(file string) (*recorder, error) {
	var out sink
	var err error
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".wav":
		out, err = newWAV(file)
	case ".ogg", ".opus":
		out, err = newOgg(file)
	default:
		return nil, fmt.Errorf("recording to %q: want a name that ends in .wav, .ogg or .opus", ext)
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &recorder{file: file, start: time.Now(), out: out, places: map[string]*place{}}, nil
}

func (r *recorder) at(t time.Time) int64 { return int64(t.Sub(r.start).Seconds() * Rate) }

// add takes sound of a track that arrived just now.
func (r *recorder) add(track string, pos int64, pcm []int16, arrived time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[track]
	if p == nil {
		p = &place{}
		r.places[track] = p
	}
	r.mix.add(p.at(r.at(arrived), pos, len(pcm)), pcm)
}

// forget lets a track that is gone begin anew if it comes back.
func (r *recorder) forget(track string) {
	r.mu.Lock()
	delete(r.places, track)
	r.mu.Unlock()
}

// run writes until the context ends, then what is left, and finishes the file.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			r.write(r.at(now.Add(-recordLag)))
		case <-ctx.Done():
			r.write(r.at(time.Now()))
			r.err = errors.Join(r.err, r.out.Close())
			return
		}
	}
}

func (r *recorder) write(until int64) {
	r.mu.Lock()
	pcm := r.mix.take(until)
	r.mu.Unlock()
	if r.err != nil || len(pcm) == 0 {
		return
	}
	raw := make([]byte, 0, 2*len(pcm))
	for _, s := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(s))
	}
	if _, err := r.out.Write(raw); err != nil {
		r.err = fmt.Errorf("recording: %w", err)
	}
}

// seconds is how much was recorded.
func (r *recorder) seconds() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.mix.done) / Rate
}

// wav writes a WAV file whose header is right after every write, so that it can be played whatever happens.
type wav struct {
	f *os.File
	n int64
}

func newWAV(file string) (*wav, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	w := &wav{f: f}
	if err := w.head(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

func (w *wav) head() error {
	n := uint32(min(w.n, 0xffffffff-36))
	h := make([]byte, 0, 44)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, 36+n)
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, 1) // PCM
	h = binary.LittleEndian.AppendUint16(h, 1) // mono
	h = binary.LittleEndian.AppendUint32(h, Rate)
	h = binary.LittleEndian.AppendUint32(h, Rate*2)
	h = binary.LittleEndian.AppendUint16(h, 2)
	h = binary.LittleEndian.AppendUint16(h, 16)
	h = append(h, "data"...)
	h = binary.LittleEndian.AppendUint32(h, n)
	_, err := w.f.WriteAt(h, 0)
	return err
}

// Write appends samples.
func (w *wav) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, 44+w.n)
	w.n += int64(n)
	return n, errors.Join(err, w.head())
}

// Close closes the file.
func (w *wav) Close() error { return w.f.Close() }

// ogg has ffmpeg write an Ogg/Opus file that can be played up to a moment ago, whatever happens.
type ogg struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	complaint strings.Builder
}

func newOgg(file string) (*ogg, error) {
	abs, err := filepath.Abs(file) // a name that begins with a dash is no flag
	if err != nil {
		return nil, err
	}
	o := &ogg{}
	o.cmd = exec.Command("ffmpeg", "-hide_banner", "-v", "error", "-probesize", "32", "-analyzeduration", "0", "-fflags", "nobuffer",
		"-f", "s16le", "-ar", fmt.Sprint(Rate), "-ac", "1", "-i", "pipe:0",
		"-c:a", "libopus", "-b:a", "48k", "-page_duration", "200000", "-flush_packets", "1", "-y", "-f", "ogg", abs)
	o.cmd.Stderr = &o.complaint
	o.cmd.WaitDelay = 2 * time.Second
	ownGroup(o.cmd) // a key that interrupts the guest lets it finish the file first
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := spawn.StartCmd(spawn.FFmpeg, o.cmd, spawn.Options{Write: []string{filepath.Dir(abs)}}); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("ffmpeg is missing: run make setup: %w", err)
		}
		return nil, err
	}
	return o, nil
}

// Write hands samples to the encoder.
func (o *ogg) Write(p []byte) (int, error) { return o.in.Write(p) }

// Close lets the encoder finish and waits for it.
func (o *ogg) Close() error {
	err := o.in.Close()
	stop := time.AfterFunc(10*time.Second, func() { _ = o.cmd.Process.Kill() })
	defer stop.Stop()
	if werr := o.cmd.Wait(); werr != nil {
		return fmt.Errorf("the encoder: %w: %s", werr, lastLine(o.complaint.String()))
	}
	return err
}
