package station

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"parley/audio"
	"parley/audio/pulse"
	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/meeting"
)

// duckLevel is how much quieter we are while we find out whether somebody interrupts, in dB.
const duckLevel = -18

// speaker is the sound server's player as the voice's. It is there before the server is.
type speaker struct {
	log *slog.Logger

	mu     sync.Mutex
	player *pulse.Player
	now    *pulse.Playing
	ear    *ear
}

func (s *speaker) open(ctx context.Context, server *pulse.Server) error {
	p, err := server.Player(ctx, pulse.PlayerOptions{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.player, s.ear = p, newEar(server, s.log)
	s.mu.Unlock()
	return nil
}

func (s *speaker) close() error {
	s.mu.Lock()
	p, ear := s.player, s.ear
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	ear.close()
	if n := p.Gaps(); n > 0 {
		s.log.Warn("the machine was too slow for our own voice: it had gaps", "gaps", n)
	}
	return p.Close()
}

func (s *speaker) play(ctx context.Context, next func(context.Context) ([]int16, error), started func()) (playResult, error) {
	s.mu.Lock()
	p, ear := s.player, s.ear
	s.mu.Unlock()
	if p == nil {
		return playResult{}, meeting.ErrCannot
	}
	ear.listen()
	now, err := p.Play(ctx, pulse.PiecesFunc(next))
	if err != nil {
		return playResult{}, err
	}
	s.mu.Lock()
	s.now = now
	s.mu.Unlock()
	select {
	case <-now.Started():
		started()
		<-now.Done() // ends with its pieces, with stop, with ctx, or with the server
	case <-now.Done():
	}
	s.mu.Lock()
	if s.now == now {
		s.now = nil
	}
	s.mu.Unlock()
	p.Restore()
	out := now.Outcome()
	res := playResult{samples: out.Played, level: ear.loudest(), gap: time.Duration(out.Gap) * time.Second / audio.SpeakRate}
	if errors.Is(out.Err, pulse.ErrStopped) {
		res.interrupted = true
		return res, nil
	}
	return res, out.Err
}

func (s *speaker) stop() {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now != nil {
		now.Stop()
	}
}

func (s *speaker) duck(on bool) {
	s.mu.Lock()
	p := s.player
	s.mu.Unlock()
	switch {
	case p == nil:
	case on:
		p.Duck(duckLevel)
	default:
		p.Restore()
	}
}

// decodeTime is how long a file may take to be decoded: an hour's worth at the slowest that a machine is under load.
const decodeTime = 25 * time.Second

// decode gives a sound file's samples at the speaking rate, by ffmpeg, up to a little more than the longest file
// that is played.
func decode(ctx context.Context, path string) ([]int16, error) {
	ctx, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	child, err := spawn.Start(spawn.FFmpeg, proc.Spec{
		Name: "ffmpeg", Path: "ffmpeg", Args: []string{"-nostdin", "-v", "error", "-i", path,
			"-t", strconv.Itoa(int(maxFile/time.Second) + 1), "-map", "0:a:0", "-f", "s16le", "-ac", "1", "-ar", strconv.Itoa(audio.SpeakRate), "-"},
		Stdout: in,
	}, spawn.Options{Read: []string{path}})
	_ = in.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	raw, err := io.ReadAll(out)
	<-child.Done()
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case child.Err() != nil && len(raw) == 0:
		// What ffmpeg says of it names the file, and may quote it.
		return nil, &meeting.SoundError{What: "there is nothing in it that can be read as sound"}
	}
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm, nil
}
