package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/cmd/parley/internal/figures"
	"parley/platforms"
	"parley/testkit/standin"
	"parley/tool"
)

// door measures the way in and the way out on the stand-ins: real browsers, real pages, no platform.
func (b *bench) door(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(standinKinds)) {
		if err := b.doorOf(ctx, name, standinKinds[name]()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// doorTime bounds each step.
const doorTime = 90 * time.Second

func (b *bench) doorOf(ctx context.Context, name string, k standin.Kind) error {
	var lobby, recording, gone []float64
	for i := range b.o.n {
		b.say("%s %d of %d", name, i+1, b.o.n)
		l, r, g, err := b.once(ctx, filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, i)), k)
		if err != nil {
			return fmt.Errorf("visit %d: %w", i+1, err)
		}
		lobby, recording, gone = append(lobby, l.Seconds()), append(recording, r.Seconds()), append(gone, g.Seconds())
	}
	title := platforms.Title(name)
	b.add(
		figures.AtMost(title+": meeting_join called → in the waiting room", "s", 10, lobby...),
		figures.AtMost(title+": let in → recording", "s", 10, recording...),
		figures.AtMost(title+": objection in the chat → file gone", "s", 2, gone...),
	)
	return nil
}

// once is one visit: asked, let in, recorded, objected to.
func (b *bench) once(ctx context.Context, data string, k standin.Kind) (lobby, recording, gone time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*doorTime)
	defer cancel()
	s, err := standin.New(k, standin.Options{Scenario: standin.Scenario{People: []standin.Person{{Name: "Ada Lovelace", Host: true}}}, Log: b.log})
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.Close()
	c, err := startClient(ctx, data, b.models, 1, "PARLEY_PLATFORM_ORIGINS="+s.Setting())
	if err != nil {
		return 0, 0, 0, err
	}
	defer c.close()
	called := time.Now()
	var st tool.Status
	if err := c.call(ctx, "meeting_join", map[string]any{"url": s.Link(), "wait": false, "live_transcript": false}, &st); err != nil {
		return 0, 0, 0, err
	}
	reach := func(want tool.State) (at time.Time, err error) {
		err = c.until(ctx, st.Meeting, doorTime, string(want), func(ev tool.Event) bool {
			if ev.State == want {
				at = ev.At
			}
			return ev.State == want
		})
		return at, err
	}
	at, err := reach(tool.Waiting)
	if err != nil {
		return 0, 0, 0, err
	}
	lobby = at.Sub(called)
	if err := s.Do(ctx, standin.Action{Do: "admit"}); err != nil {
		return 0, 0, 0, err
	}
	let := time.Now()
	file := filepath.Join(data, "recordings", "me", st.Meeting+".ogg")
	if err := appears(ctx, file); err != nil {
		return 0, 0, 0, fmt.Errorf("the recording never began: %w", err)
	}
	recording = time.Since(let)
	if _, err := reach(tool.Attending); err != nil {
		return 0, 0, 0, err
	}
	if err := pause(ctx, 2*time.Second); err != nil { // something to be deleted
		return 0, 0, 0, err
	}
	if err := s.Do(ctx, standin.Action{Do: "say", Who: "Ada Lovelace", Text: "Prosím, nenahrávajte ma"}); err != nil {
		return 0, 0, 0, err
	}
	objected := time.Now()
	if err := disappears(ctx, file); err != nil {
		return 0, 0, 0, fmt.Errorf("the recording is still there: %w", err)
	}
	return lobby, recording, time.Since(objected), nil
}

// appears waits for a file with something in it.
func appears(ctx context.Context, path string) error {
	return lookEvery(ctx, func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	})
}

// disappears waits until nothing of a recording is left but its marker.
func disappears(ctx context.Context, path string) error {
	return lookEvery(ctx, func() bool {
		_, err := os.Stat(path)
		_, marked := os.Stat(strings.TrimSuffix(path, ".ogg") + ".deleted")
		return os.IsNotExist(err) && marked == nil
	})
}

func lookEvery(ctx context.Context, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, doorTime)
	defer cancel()
	for !ok() {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
