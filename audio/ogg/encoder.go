package ogg

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/guard/spawn"
	"parley/internal/proc"
)

// encoder is one ffmpeg that writes one part.
type encoder struct {
	n     int    // of the part
	path  string // of the part
	first int64  // recording sample that the part begins with
	sent  int64  // bytes of PCM that it has taken
	moved time.Time

	child  *proc.Child
	stdin  *os.File
	raw    syscall.RawConn
	stderr *tail
}

// pipeBytes is how much the pipe to the encoder holds: half a second.
const pipeBytes = 16 << 10

// startEncoder makes the part's file and starts an encoder that writes into it. The file is ours from the start:
// the encoder only gets it open, so that nobody can make it again after a deletion.
func startEncoder(o Options, n int, first int64) (_ *encoder, err error) {
	e := &encoder{n: n, path: partPath(o.Path, n), first: first, moved: time.Now(), stderr: &tail{}}
	file, err := os.OpenFile(e.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("recording part: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(err, gone(os.Remove(e.path)))
		}
	}()
	in, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the encoder: %w", err)
	}
	defer in.Close()
	e.stdin = out
	if e.raw, err = out.SyscallConn(); err == nil {
		err = e.raw.Control(func(fd uintptr) {
			// A smaller pipe only means that we notice a stuck encoder sooner: not having it is no fault.
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes)
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe to the encoder: %w", err), out.Close())
	}
	e.child, err = spawn.Start(spawn.FFmpeg, proc.Spec{
		Name:       "ffmpeg",
		Path:       o.FFmpeg,
		Args:       encoderArgs(o, first),
		Stdin:      in,
		Stderr:     e.stderr,
		ExtraFiles: []*os.File{file},
	}, spawn.Options{})
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	// It does little, and that little must not wait: what it has not written yet dies with it. Where we may not put it
	// before others it does without.
	_ = unix.Setpriority(unix.PRIO_PROCESS, e.child.PID(), urgency)
	return e, nil
}

// urgency is an encoder's niceness.
const urgency = -8

// encoderArgs: no probing of the input (it would wait for seconds of sound; with -fflags nobuffer it even swallows
// the first 40 ms), a page each 200 ms, each written at once.
func encoderArgs(o Options, first int64) []string {
	return []string{
		"-hide_banner", "-nostdin", "-nostats", "-loglevel", "error",
		"-probesize", "32", "-analyzeduration", "0",
		"-f", "s16le", "-ar", strconv.Itoa(rate), "-ac", "1", "-i", "pipe:0",
		"-map_metadata", "-1",
		"-metadata", firstTag + "=" + strconv.FormatInt(first, 10),
		"-metadata", beganTag + "=" + o.began.UTC().Format(time.RFC3339Nano),
		"-threads", "1",
		"-c:a", "libopus", "-b:a", strconv.Itoa(o.Bitrate), "-application", "voip", "-frame_duration", "20",
		"-page_duration", "200000", "-flush_packets", "1", "-flags", "+bitexact", "-fflags", "+bitexact",
		"-f", "ogg", "pipe:3",
	}
}

// write gives the encoder as much as it takes at once.
func (e *encoder) write(b []byte) error {
	var n int
	var werr error
	err := e.raw.Write(func(fd uintptr) bool {
		for {
			n, werr = unix.Write(int(fd), b)
			if !errors.Is(werr, unix.EINTR) {
				return true // whatever it took: nobody waits here
			}
		}
	})
	if n > 0 {
		e.sent += int64(n)
		e.moved = time.Now()
	}
	if errors.Is(werr, unix.EAGAIN) {
		werr = nil
	}
	return errors.Join(err, werr)
}

// fed is the recording sample up to which the encoder has everything.
func (e *encoder) fed() int64 { return e.first + e.sent/2 }

// settled is the recording sample up to which the part on disk can be played, and from where the next one has to
// begin: on the 20 ms grid, and early, for the encoder to settle in. ok is false when nothing of the part can be used.
func (e *encoder) settled() (next int64, ok bool, err error) {
	info, err := Info(e.path)
	if errors.Is(err, ErrNotOpus) || (err == nil && info.granule < packet48) {
		return e.first, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return e.first + max(0, info.granule/packet48-settling)*packet16, true, nil
}

// settling is how many packets of a new encoder are only for it to come to the same mind as the one before: it takes
// some 300 ms until it codes music as music, and a change in the middle can be heard.
const settling = 25

// why explains the encoder's end.
func (e *encoder) why() error {
	text := e.stderr.String()
	if strings.Contains(strings.ToLower(text), unix.ENOSPC.Error()) {
		return ErrDiskFull
	}
	if err := diskSpace(e.path); err != nil {
		return err
	}
	if text == "" {
		return fmt.Errorf("%w (%v)", ErrEncoder, e.child.Err())
	}
	return fmt.Errorf("%w (%v): %s", ErrEncoder, e.child.Err(), text)
}

// tail keeps the end of what the encoder says; it never says anything about the sound.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 1024; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
