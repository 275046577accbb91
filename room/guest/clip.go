package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pion/opus"
	"github.com/pion/opus/pkg/oggreader"

	"parley/guard/spawn"
	"parley/room/wire"
)

// Rate is the sample rate of everything the guest plays and hears, in Hz: mono, signed 16 bit.
const Rate = 48000

// frame is the length of one packet.
const (
	frame        = 20 * time.Millisecond
	frameSamples = Rate / 50
)

// maxClip bounds what is held in memory.
const maxClip = 4 * time.Hour

// Clip is something to play: Opus packets of 20 ms each, ready to be sent.
type Clip struct {
	// Name says what it is, in events.
	Name    string
	packets [][]byte
	levels  []uint8
}

// Length is how long the clip plays.
func (c Clip) Length() time.Duration { return time.Duration(len(c.packets)) * frame }

// Load makes a clip of a file of any format that ffmpeg reads.
func Load(ctx context.Context, file string) (Clip, error) {
	if _, err := os.Stat(file); err != nil {
		return Clip{}, err
	}
	c, err := encode(ctx, nil, []string{file}, "-i", file)
	c.Name = file
	return c, err
}

// Encode makes a clip of samples at Rate.
func Encode(ctx context.Context, name string, pcm []int16) (Clip, error) {
	raw := make([]byte, 0, 2*len(pcm))
	for _, s := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(s))
	}
	c, err := encode(ctx, bytes.NewReader(raw), nil, "-f", "s16le", "-ar", fmt.Sprint(Rate), "-ac", "1", "-i", "pipe:0")
	c.Name = name
	return c, err
}

func encode(ctx context.Context, in io.Reader, files []string, input ...string) (Clip, error) {
	args := append([]string{"-hide_banner", "-nostdin", "-v", "error"}, input...)
	args = append(args, "-vn", "-ac", "1", "-ar", fmt.Sprint(Rate), "-t", fmt.Sprint(int(maxClip.Seconds())),
		"-c:a", "libopus", "-b:a", "64k", "-application", "audio", "-frame_duration", "20", "-f", "ogg", "pipe:1")
	cmd := exec.CommandContext(ctx, "ffmpeg", args...)
	cmd.Stdin = in
	cmd.WaitDelay = 2 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := spawn.RunCmd(spawn.FFmpeg, cmd, spawn.Options{Read: files}); err != nil {
		if ctx.Err() != nil {
			return Clip{}, context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return Clip{}, fmt.Errorf("ffmpeg is missing: run make setup: %w", err)
		}
		return Clip{}, fmt.Errorf("ffmpeg cannot read the sound: %w: %s", err, lastLine(complaint.String()))
	}
	return parse(&out)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// parse takes the packets out of an Ogg stream and measures each.
func parse(r io.Reader) (Clip, error) {
	ogg, head, err := oggreader.NewWith(r)
	if err != nil {
		return Clip{}, fmt.Errorf("encoded sound: %w", err)
	}
	var c Clip
	decoder, err := opus.NewDecoderWithOutput(Rate, 1)
	if err != nil {
		return Clip{}, err
	}
	pcm := make([]int16, frameSamples)
	for {
		packet, _, err := ogg.ParseNextPacket()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Clip{}, fmt.Errorf("encoded sound: %w", err)
		}
		if bytes.HasPrefix(packet, []byte("OpusTags")) {
			continue
		}
		n, err := decoder.DecodeToInt16(packet, pcm)
		if err != nil {
			return Clip{}, fmt.Errorf("encoded sound: %w", err)
		}
		c.packets = append(c.packets, bytes.Clone(packet))
		c.levels = append(c.levels, wire.Level(pcm[:n]))
	}
	if len(c.packets) == 0 {
		return Clip{}, errors.New("there is no sound in it")
	}
	_ = head // its pre-skip is 312 samples with this encoder: a player that hears the stream from its start hears them too
	return c, nil
}
