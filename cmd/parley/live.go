package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/settings"
	"parley/platforms/sign"
	"parley/tool"
)

// liveTime bounds a look at a real meeting's lobby.
const liveTime = 3 * time.Minute

// lookLive opens a real meeting's lobby with everything that a join has, and goes no further: nobody is asked to let us in.
// What the page showed stays in a folder, so that a table can be mended by it.
func lookLive(ctx context.Context, env *environment, v *settings.Values, link string, asJSON bool) error {
	d, err := newDoor(v)
	if err != nil {
		return fail(exitUsage, "%v", err)
	}
	platform, parsed, err := d.find(link)
	if err != nil {
		return fail(exitUsage, "%v", err)
	}
	dir, err := os.MkdirTemp("", "parley-live-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // when the service has ended, which still writes there
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	c, err := startClient(ctx, dir, modelsDir(v), 1, "PARLEY_PLATFORM_ORIGINS="+v.String("PARLEY_PLATFORM_ORIGINS"),
		"PARLEY_ROOM_ORIGINS="+v.String("PARLEY_ROOM_ORIGINS"), "PARLEY_LIVEKIT_ORIGINS="+v.String("PARLEY_LIVEKIT_ORIGINS"))
	if err != nil {
		return err
	}
	defer c.close()
	fmt.Fprintf(env.stderr, "looking at the lobby of %s; nobody is asked to let us in\n", parsed)
	var st tool.Status
	if err := c.call(ctx, "meeting_join", map[string]any{"url": link, "dry_run": true, "wait": false, "live_transcript": false}, &st); err != nil {
		return err
	}
	for st.State != tool.Ended {
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		now := tool.Status{} // a member that is not told any more is gone
		if err := c.call(ctx, "meeting_status", map[string]any{"meeting_id": st.Meeting}, &now); err != nil {
			return err
		}
		st = now
	}
	kept, err := keepLive(st.EvidencePath, platform.Name)
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(env.stdout)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"platform": platform.Name, "status": st, "evidence": kept})
	}
	return tellLive(env, st, kept)
}

// keepLive copies the evidence out of the data folder, which goes.
func keepLive(from, platform string) (string, error) {
	if from == "" {
		return "", nil
	}
	to, err := os.MkdirTemp("", "parley-live-"+platform+"-")
	if err != nil {
		return "", err
	}
	return to, os.CopyFS(filepath.Join(to, "evidence"), os.DirFS(from))
}

func tellLive(env *environment, st tool.Status, kept string) error {
	p := func(name, value string) {
		if value != "" {
			fmt.Fprintf(env.stdout, "%-14s %s\n", name, value)
		}
	}
	p("ended", st.Reason)
	p("microphone", st.Microphone)
	p("camera", st.Camera)
	if l := st.Lobby; l != nil {
		p("joins as", l.Kind)
		p("button", l.JoinButton)
		p("page", l.Page)
		if l.Challenge {
			p("challenge", "a visible one stands there")
		}
	}
	var page struct {
		Now []sign.Hit `json:"now"`
	}
	if raw, err := os.ReadFile(filepath.Join(kept, "evidence", "page.json")); err == nil && json.Unmarshal(raw, &page) == nil {
		var seen []string
		for _, h := range page.Now {
			s := h.Sign
			if h.Lang != "" && h.Lang != "en" {
				s += " (" + h.Lang + ")"
			}
			seen = append(seen, s)
		}
		slices.Sort(seen)
		p("signs", strings.Join(seen, ", "))
	}
	p("evidence", kept)
	if st.Reason != "dry-run" {
		p("why", st.ReasonText)
		return fail(exitFailed, "the lobby was not reached: %s", st.Reason)
	}
	return nil
}
