package ogg

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/testkit/need"
)

func record(t testing.TB, o Options) *Recorder {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "m.ogg")
	}
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, _ = r.Stop(ctx)
	})
	return r
}

func stop(t testing.TB, r *Recorder) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := r.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// encoderOf is the process id of the encoder that runs now, or 0.
func encoderOf(r *Recorder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil {
		return 0
	}
	return r.child.PID()
}

// check compares a recording with the ruler: at most some tenths of a second may be no tone (a frame between two
// encoders, the beginning and the end), and every tone must be the one of its time.
func check(t testing.TB, path string, offset int64, odd int) {
	t.Helper()
	pcm := decode(t, path)
	shift := (step - (-offset)%step) % step // the file's sample where a step of the source begins
	if offset > 0 {
		shift = offset % step
	}
	wrong := 0
	got := steps(pcm, shift)
	for i, hz := range got {
		k := (shift + int64(i)*step - offset) / step
		if k < 0 { // before the source began
			continue
		}
		if hz != tone(k) {
			wrong++
			t.Logf("at %.1f s: %v Hz, want %v", float64(shift+int64(i)*step)/rate, hz, tone(k))
		}
	}
	if wrong > odd && !need.Overloaded(t) {
		t.Errorf("%d of %d tenths of a second are not what was played", wrong, len(got))
	}
}

func TestARecordingIsWhatWasPlayed(t *testing.T) {
	need.Sound(t)
	path := filepath.Join(t.TempDir(), "m.ogg")
	began := time.Now()
	r := record(t, Options{Path: path})
	p := pace(t, r)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file while it is written: %v %v", info.Mode(), err)
	}
	time.Sleep(3 * time.Second)
	offset, ok := r.Sample(0)
	if !ok {
		t.Fatal("no frame has a place")
	}
	res := stop(t, r)
	took := time.Since(began).Seconds()
	p.end()
	if math.Abs(res.Seconds-took) > 0.3 || res.Parts != 1 || res.Lost != 0 {
		t.Errorf("%+v in %.2f s", res, took)
	}
	if stat, err := os.Stat(path); err != nil || stat.Size() != res.Bytes || stat.Mode().Perm() != 0o600 {
		t.Errorf("on disk: %v, %v", stat, err)
	}
	if n := len(decode(t, path)); math.Abs(float64(n)/rate-res.Seconds) > 1e-4 {
		t.Errorf("%d samples decoded, the file says %v s", n, res.Seconds)
	}
	if info, err := Info(path); err != nil || !info.Closed || math.Abs(info.Began.Sub(began).Seconds()) > 1 {
		t.Errorf("%+v %v", info, err)
	}
	check(t, path, offset, 1)
	if err := r.Write(counted(0, 1, time.Now())); !errors.Is(err, ErrStopped) {
		t.Errorf("a write after the end: %v", err)
	}
	if _, err := Start(t.Context(), Options{Path: path}); !errors.Is(err, ErrExists) {
		t.Errorf("a second recording of the name: %v", err)
	}
}

func TestAnEncoderThatDiesCostsNothing(t *testing.T) {
	need.Sound(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} { // ffmpeg obeys the second one, with status 255
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "m.ogg")
			r := record(t, Options{Path: path})
			pace(t, r)
			for i := range 3 {
				time.Sleep(time.Duration(2200+170*i) * time.Millisecond)
				was := encoderOf(r)
				at := time.Now()
				if err := syscall.Kill(was, sig); err != nil {
					t.Fatal(err)
				}
				f := <-r.Faults()
				if f.Kind != FaultEncoder || f.Part != i+1 || !errors.Is(f.Err, ErrEncoder) {
					t.Errorf("fault %+v", f)
				}
				for encoderOf(r) == 0 || encoderOf(r) == was {
					time.Sleep(time.Millisecond)
				}
				if took := time.Since(at); took > 2*time.Second {
					t.Errorf("the next part came after %v", took)
				} else {
					t.Logf("next part after %v", took.Round(time.Millisecond))
				}
			}
			time.Sleep(time.Second)
			offset, _ := r.Sample(0)
			res := stop(t, r)
			if res.Parts != 4 || res.Lost != 0 {
				t.Errorf("%+v", res)
			}
			if list, err := parts(path); err != nil || len(list) != 1 {
				t.Errorf("parts left: %v %v", list, err)
			}
			if n := len(decode(t, path)); math.Abs(float64(n)/rate-res.Seconds) > 1e-4 {
				t.Errorf("%d samples decoded, the file says %v s", n, res.Seconds)
			}
			check(t, path, offset, 1+3) // a joint may sound odd for a moment
		})
	}
}

func TestAStuckEncoderIsReplaced(t *testing.T) {
	need.Sound(t)
	path := filepath.Join(t.TempDir(), "m.ogg")
	r := record(t, Options{Path: path, Stall: 700 * time.Millisecond})
	pace(t, r)
	time.Sleep(2500 * time.Millisecond)
	if err := syscall.Kill(encoderOf(r), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if f := <-r.Faults(); f.Kind != FaultStalled {
		t.Errorf("fault %+v", f)
	}
	time.Sleep(time.Second)
	offset, _ := r.Sample(0)
	if res := stop(t, r); res.Parts != 2 || res.Lost != 0 {
		t.Errorf("%+v", res)
	}
	check(t, path, offset, 2)
}

func TestDeletionWaitsForNoEncoder(t *testing.T) {
	need.Sound(t)
	dir := t.TempDir()
	r := record(t, Options{Path: filepath.Join(dir, "m.ogg")})
	pace(t, r)
	time.Sleep(500 * time.Millisecond)
	if err := syscall.Kill(encoderOf(r), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := r.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("deleted after %v", time.Since(at).Round(time.Millisecond))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if _, err := r.Stop(t.Context()); !errors.Is(err, ErrDeleted) {
		t.Errorf("stop after deletion: %v", err)
	}
}

func TestStopOfAStuckEncoderKeepsWhatThereIs(t *testing.T) {
	need.Sound(t)
	path := filepath.Join(t.TempDir(), "m.ogg")
	r := record(t, Options{Path: path, Stall: time.Hour})
	pace(t, r)
	time.Sleep(2 * time.Second)
	if err := syscall.Kill(encoderOf(r), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	res, err := r.Stop(ctx)
	if err != nil || res.Seconds < 1 || res.Lost == 0 {
		t.Errorf("%+v %v", res, err)
	}
}

func TestARecordingGoesOnWhereAnotherProcessEnded(t *testing.T) {
	need.Sound(t)
	path := filepath.Join(t.TempDir(), "m.ogg")
	r := record(t, Options{Path: path})
	p := pace(t, r)
	time.Sleep(1500 * time.Millisecond)
	p.end()
	// As after SIGKILL of the worker: encoder gone, nothing joined, no end marked.
	kept := filepath.Join(filepath.Dir(path), "kept")
	if err := os.Link(path, kept); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(kept, path); err != nil {
		t.Fatal(err)
	}
	began := r.Began()
	before, err := Info(path)
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(700 * time.Millisecond)
	r2 := record(t, Options{Path: path, Resume: true})
	if d := r2.Began().Sub(began).Abs(); d > 5*time.Millisecond {
		t.Errorf("the clock is %v off", d)
	}
	pace(t, r2)
	time.Sleep(1500 * time.Millisecond)
	offset, _ := r2.Sample(0)
	wall := time.Since(began).Seconds()
	res := stop(t, r2)
	if res.Parts != 2 || res.Seconds < wall-0.1 || res.Seconds > wall+0.5 {
		t.Errorf("%+v after %v", res, wall)
	}
	pcm := decode(t, path)
	gap := pcm[before.Samples+rate/20 : offset-rate/20]
	if audio := heard(gap); audio != 0 {
		t.Errorf("%v Hz where nobody recorded", audio)
	}
	got := steps(pcm, offset)
	for k, hz := range got[1 : len(got)-1] {
		if hz != tone(int64(k+1)) {
			t.Errorf("%.1f s into the second part: %v Hz, want %v", float64(k+1)/10, hz, tone(int64(k+1)))
		}
	}
}

func TestALessThanWholeFileIsJoinedTwiceTheSame(t *testing.T) {
	need.Sound(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.ogg")
	r := record(t, Options{Path: path})
	pace(t, r)
	time.Sleep(2300 * time.Millisecond)
	if err := syscall.Kill(encoderOf(r), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.Faults()
	time.Sleep(1200 * time.Millisecond)
	second, err := os.ReadFile(partPath(path, 2))
	if err != nil {
		t.Fatal(err)
	}
	res := stop(t, r)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The join was interrupted after the whole was in place: the second part still lies there.
	if err := os.WriteFile(partPath(path, 2), second, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := Join(path)
	if err != nil || info.Seconds != res.Seconds {
		t.Fatalf("%+v %v", info, err)
	}
	again, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(whole, again) {
		t.Error("joining again changed the recording")
	}
	if list, err := parts(path); err != nil || len(list) != 1 {
		t.Errorf("parts left: %v %v", list, err)
	}
}

func TestWarming(t *testing.T) {
	need.Sound(t)
	if err := Warm(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Warm(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProgressNeverWaits(t *testing.T) {
	need.Sound(t)
	r := record(t, Options{})
	pace(t, r)
	time.Sleep(2300 * time.Millisecond)
	if p := r.Progress(); p.Seconds < 1 || p.Bytes < 1000 || p.Parts != 1 || p.Path == "" {
		t.Errorf("%+v", p)
	}
}

func TestStartRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "false")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no name":         {Path: filepath.Join(dir, ".ogg"), FFmpeg: program},
		"another format":  {Path: filepath.Join(dir, "m.mp3"), FFmpeg: program},
		"no folder":       {Path: filepath.Join(dir, "none", "m.ogg"), FFmpeg: program},
		"a bitrate of 1":  {Path: filepath.Join(dir, "m.ogg"), Bitrate: 1, FFmpeg: program},
		"no such program": {Path: filepath.Join(dir, "m.ogg"), FFmpeg: filepath.Join(dir, "none")},
	} {
		if r, err := Start(t.Context(), o); err == nil {
			t.Errorf("%s was accepted", name)
			_ = r.Delete(t.Context())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.ogg")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAnEncoderThatNeverWorks: a program that ends at once must not be started in a storm, and its failure is told.
func TestAnEncoderThatNeverWorks(t *testing.T) {
	need.Real(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "ffmpeg")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho broken >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "m.ogg")
	var log bytes.Buffer // an encoder has no files of its own to count in
	r := record(t, Options{Path: path, FFmpeg: program, Log: slog.New(slog.NewTextHandler(&log, nil))})
	pace(t, r)
	time.Sleep(2 * time.Second)
	f := <-r.Faults()
	if f.Kind != FaultEncoder || !errors.Is(f.Err, ErrEncoder) || !strings.Contains(f.Err.Error(), "broken") {
		t.Errorf("fault %+v", f)
	}
	if _, err := r.Stop(t.Context()); !errors.Is(err, ErrNotJoined) {
		t.Errorf("stop: %v", err)
	}
	if n := strings.Count(log.String(), "recording fault"); n < 2 || n > 12 {
		t.Errorf("%d starts in two seconds", n)
	}
	if list, err := parts(path); err != nil || len(list) != 0 {
		t.Errorf("empty parts are left: %v %v", list, err)
	}
}
