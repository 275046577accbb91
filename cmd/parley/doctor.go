package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/audio/pulse"
	"parley/browser/chromium"
	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/internal/settings"
	"parley/speech/local"
	"parley/speech/models"
	"parley/store"
)

// check is one thing that a machine needs, and what was found.
type check struct {
	Name string `json:"name"`
	// State is ok, warn (works, but less well) or missing.
	State  string `json:"state"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

type doctorOptions struct {
	json bool
	live string
}

var doctorCommand = &command{
	name:  "doctor",
	args:  "[--live URL] [--json]",
	short: "what this machine has, what is missing, and what to do about it",
	long: `Looks at everything that a meeting needs: programs, system user, display, browser and its sandbox (it starts
one), sound (it starts a server and plays a tone through it), speech models, disk, data folder. Each line says
what was found and what to do. It exits with 3 when something is missing without which no meeting can be
attended; speech is not such a thing, meetings are recorded without it. With --live it looks at the lobby of a real
meeting instead: everything that a join does up to the button, which is not pressed; what the page showed stays in
a folder that it names.`,
	example: "parley doctor\nparley doctor --live https://meet.google.com/abc-defg-hij",
	flags: func(fs *flag.FlagSet) any {
		o := &doctorOptions{}
		fs.BoolVar(&o.json, "json", false, "print JSON")
		fs.StringVar(&o.live, "live", "", "`link` of a meeting whose lobby is looked at")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		asJSON := opts.(*doctorOptions).json
		if link := opts.(*doctorOptions).live; link != "" {
			return lookLive(ctx, env, v, link, asJSON)
		}
		var all []check
		bad := 0
		for _, probe := range []func(context.Context, *settings.Values) []check{
			checkMachine, checkPrograms, checkAccount, checkCage, checkBrowser, checkSound, checkSpeech, checkData,
		} {
			for _, c := range probe(ctx, v) {
				if c.State == "missing" {
					bad++
				}
				all = append(all, c)
				if !asJSON {
					fmt.Fprintf(env.stdout, "%-8s %-18s %s\n", c.State, c.Name, c.Found)
					if c.Remedy != "" && c.State != "ok" {
						fmt.Fprintf(env.stdout, "%-27s → %s\n", "", c.Remedy)
					}
				}
			}
		}
		if asJSON {
			e := json.NewEncoder(env.stdout)
			e.SetIndent("", "  ")
			if err := e.Encode(all); err != nil {
				return err
			}
		}
		if bad > 0 {
			return fail(exitMissing, "%d of %d checks failed: no meeting can be attended before they are mended", bad, len(all))
		}
		return nil
	},
}

func checkMachine(context.Context, *settings.Values) []check {
	c := check{Name: "machine", State: "ok", Found: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	if runtime.GOOS != "linux" {
		c.State, c.Remedy = "missing", "meetings need Linux (PulseAudio, Xvfb)"
	}
	return []check{c}
}

func checkPrograms(context.Context, *settings.Values) []check {
	var out []check
	for _, p := range []struct {
		program, what, pkg string
		needed             bool
	}{
		{"pulseaudio", "sound server", "pulseaudio", true}, {"Xvfb", "display", "xvfb", true}, {"ffmpeg", "encoder", "ffmpeg", true},
		{"espeak-ng", "sounds of words", "espeak-ng", false},
	} {
		c := check{Name: p.what, State: "ok"}
		path, err := exec.LookPath(p.program)
		switch {
		case err == nil:
			c.Found = path
		case p.needed:
			c.State, c.Found, c.Remedy = "missing", p.program+" is not installed", "make setup, or install the package "+p.pkg
		default:
			c.State, c.Found, c.Remedy = "warn", p.program+" is not installed: the voice knows fewer words", "make setup, or install the package "+p.pkg
		}
		out = append(out, c)
	}
	return out
}

func checkAccount(_ context.Context, v *settings.Values) []check {
	c := check{Name: "account", State: "ok"}
	if os.Geteuid() != 0 {
		c.Found = "everything runs as the caller"
		return []check{c}
	}
	name := v.String("PARLEY_ACCOUNT")
	a, err := proc.Lookup(name)
	if err != nil {
		c.State, c.Found, c.Remedy = "missing", err.Error(), "make setup makes the system user "+name+"; or run parley as an ordinary user"
		return []check{c}
	}
	c.Found = fmt.Sprintf("we are root; browser, display and sound run as %s (%d)", a.Name, a.UID)
	return []check{c}
}

func account(v *settings.Values) *proc.Account {
	if os.Geteuid() != 0 {
		return nil
	}
	a, err := proc.Lookup(v.String("PARLEY_ACCOUNT"))
	if err != nil {
		return nil // checkAccount says so
	}
	return a
}

// checkCage tells what this machine can keep the programs from that we start.
func checkCage(context.Context, *settings.Values) []check {
	return cageChecks(spawn.Kernel(), spawn.FindVeil)
}

func cageChecks(l spawn.Level, veil func() (spawn.Veil, error)) []check {
	cage := check{Name: "cage of programs", State: "ok", Found: fmt.Sprintf("Landlock %d, seccomp", l.Landlock)}
	switch {
	case l.Landlock == 0 && !l.Seccomp:
		cage.State, cage.Found, cage.Remedy = "warn", "the kernel has neither Landlock nor seccomp: encoder, display and the like run with all rights of their user", "a kernel of 5.13 or newer, with both switched on"
	case l.Landlock == 0:
		cage.State, cage.Found, cage.Remedy = "warn", "seccomp alone: no program is kept from files", "a kernel of 5.13 or newer with Landlock among its security modules"
	case !l.Seccomp:
		cage.State, cage.Found, cage.Remedy = "warn", fmt.Sprintf("Landlock %d alone: not every program is kept from the network", l.Landlock), "a kernel with seccomp filters"
	}
	hide := check{Name: "agents' veil", State: "ok"}
	v, err := veil()
	switch {
	case errors.Is(err, spawn.ErrNoBubblewrap):
		hide.State, hide.Found, hide.Remedy = "warn", err.Error()+": an agent's program that meeting_ask starts can see the data folder", "install the package bubblewrap"
	case err != nil:
		hide.State, hide.Found, hide.Remedy = "warn", err.Error()+"; an agent's program that meeting_ask starts can see the data folder", "permit user namespaces (in a container: its seccomp and AppArmor profiles), or leave PARLEY_AGENT unset"
	case !v.Processes:
		hide.Found = v.Path + " hides the data folder, not other processes"
	default:
		hide.Found = v.Path + " hides the data folder and other processes"
	}
	return []check{cage, hide}
}

func checkBrowser(ctx context.Context, v *settings.Values) []check {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	a := account(v)
	dir, err := proc.RunDir("", a)
	if err != nil {
		return []check{{Name: "browser", State: "missing", Found: err.Error()}}
	}
	defer os.RemoveAll(dir)
	noSandbox := !v.Bool("PARLEY_CHROMIUM_SANDBOX")
	r, err := chromium.Check(ctx, chromium.Options{Path: v.String("PARLEY_CHROMIUM"), Account: a, NoSandbox: noSandbox, Dir: dir, Log: slog.New(slog.DiscardHandler)})
	browser := check{Name: "browser", State: "ok", Found: fmt.Sprintf("%s, starts in %.1f s", r.Version, r.Start.Seconds())}
	sandbox := check{Name: "sandbox", State: "ok", Found: "on (" + r.Sandbox.Layer + ")"}
	var se *chromium.StartError
	switch {
	case errors.As(err, &se):
		browser.State, browser.Found, browser.Remedy = "missing", se.Error(), se.Remedy()
		return []check{browser}
	case errors.Is(err, chromium.ErrSandboxWeak):
		sandbox.State, sandbox.Found, sandbox.Remedy = "missing", "not adequate", err.Error()
	case err != nil:
		browser.State, browser.Found = "missing", err.Error()
		return []check{browser}
	case noSandbox:
		sandbox.State, sandbox.Found, sandbox.Remedy = "warn", "switched off", "unset PARLEY_CHROMIUM_SANDBOX"
	}
	return []check{browser, sandbox}
}

// checkSound starts a private server as a meeting would, and plays a tone from end to end.
func checkSound(ctx context.Context, v *settings.Values) []check {
	c := check{Name: "sound loop", State: "ok"}
	broken := func(err error) []check {
		c.State, c.Found, c.Remedy = "missing", err.Error(), "make setup; then look at what the sound server says"
		return []check{c}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	a := account(v)
	dir, err := proc.RunDir("", a)
	if err != nil {
		return broken(err)
	}
	defer os.RemoveAll(dir)
	s, err := pulse.Start(ctx, pulse.Options{Dir: filepath.Join(dir, "snd"), Account: a})
	if err != nil {
		return broken(err)
	}
	defer s.Close()
	lags, err := pulse.MeasureLatency(ctx, s, 3)
	if err != nil {
		return broken(err)
	}
	c.Found = fmt.Sprintf("what we play arrives at the microphone after %d ms", lags[len(lags)/2].Milliseconds())
	return []check{c}
}

func checkSpeech(ctx context.Context, v *settings.Values) []check {
	m := check{Name: "speech models", State: "ok", Found: modelsDir(v)}
	var lost []string
	for _, i := range models.Status(modelsDir(v)) {
		if i.State != models.OK && !i.Optional {
			lost = append(lost, i.File)
		}
	}
	if len(lost) > 0 {
		m.State, m.Remedy = "warn", "parley models fetch; until then what needs them does not work, and meetings are recorded all the same"
		m.Found = fmt.Sprintf("%d files are missing or damaged in %s, among them %s", len(lost), modelsDir(v), lost[0])
	}
	out := []check{m}
	e := local.New(local.Options{RunDir: speechRun(v), ModelsDir: modelsDir(v)})
	defer e.Close()
	st := e.Status(ctx)
	s := check{Name: "speech", State: "ok", Found: st.State}
	if st.PID != 0 {
		s.Found += fmt.Sprintf(", process %d, %d MB, %d streams", st.PID, st.RSS>>20, st.Streams)
	}
	if st.State == local.StateMissing || st.State == local.StateFailed {
		s.State, s.Found, s.Remedy = "warn", st.Problem, st.Remedy
	}
	out = append(out, s)
	for _, n := range st.Notes {
		out = append(out, check{Name: "speech", State: "warn", Found: n})
	}
	if runtime.NumCPU() < 2 {
		out = append(out, check{Name: "speech", State: "warn", Found: "one core: transcripts will lag", Remedy: "two cores are enough for two meetings"})
	}
	return out
}

func checkData(ctx context.Context, v *settings.Values) []check {
	dir := dataDir(v)
	d := check{Name: "data folder", State: "ok", Found: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.State, d.Found, d.Remedy = "missing", err.Error(), "set PARLEY_DATA to a folder that this user may write"
		return []check{d}
	}
	if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o077 != 0 {
		d.State, d.Found, d.Remedy = "warn", fmt.Sprintf("%s may be read by others (%s)", dir, st.Mode().Perm()), "chmod 700 "+dir
	}
	out := []check{d}
	disk := check{Name: "disk", State: "ok"}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		disk.State, disk.Found = "warn", err.Error()
	} else {
		free := int64(fs.Bavail) * fs.Bsize
		disk.Found = fmt.Sprintf("%.1f GB free; an hour of recording takes 11 MB", float64(free)/1e9)
		if free < 1<<30 {
			disk.State, disk.Remedy = "warn", "make some room: recordings stop when the disk is full"
		}
	}
	db := check{Name: "store", State: "ok"}
	s, err := store.Open(ctx, dir)
	if err != nil {
		db.State, db.Found, db.Remedy = "missing", err.Error(), "see what the message says; the file is "+filepath.Join(dir, store.File)
	} else {
		db.Found = strings.TrimPrefix(s.Path(), dir+"/")
		if err := errors.Join(s.Ping(ctx), s.Close()); err != nil {
			db.State, db.Found = "missing", err.Error()
		}
	}
	return append(out, disk, db)
}
