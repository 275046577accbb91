package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/audio/ogg"
	"parley/browser"
	"parley/channel/mcpl"
	"parley/cmd/parley/internal/seat"
	"parley/control/trusted"
	"parley/internal/proc"
	"parley/internal/settings"
	"parley/mcp"
	"parley/mcp/links"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/keeper"
	"parley/speech/local"
	"parley/speech/models"
	"parley/store"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
	"parley/upload"
)

// app is the service with all its parts. Commands, the demo and tests start it and close it.
type app struct {
	v        *settings.Values
	log      *slog.Logger
	store    *store.Store
	registry *tenant.Registry
	keeper   *keeper.Keeper
	seat     *seat.Seat
	links    *links.Service
	tools    *tool.Service
	server   *mcp.Server
	board    *mcpl.Board // the meetings' channels; nil where there are no meetings
	guard    *guard
	control  *control // nil unless it is switched on
	engine   *local.Engine
	browsers *browser.Manager
	uploads  *upload.Store
	lender   *lender
	// sweeping is the goroutine that forgets what is too old; close waits for its end.
	asking   *trusted.Server // nil: nobody can answer questions in a terminal
	sweeping sync.WaitGroup
	stop     context.CancelFunc
	counting context.CancelFunc // of what paid recognisers are used
	// firstToken is the token that this start made, to be shown once; empty when there was one.
	firstToken string
}

// appOptions say what differs between the ways to run the service.
type appOptions struct {
	log *slog.Logger
	// level is how much the meetings' processes log; empty: PARLEY_LOG_LEVEL.
	level string
	// linksAt is where one-time links are served when the client's own address does not tell.
	linksAt string
	// needToken makes the first token where none is configured.
	needToken bool
	// control starts the control endpoint where PARLEY_CONTROL says so.
	control bool
}

// newApp opens everything. Close ends it.
func newApp(ctx context.Context, v *settings.Values, o appOptions) (_ *app, err error) {
	a := &app{v: v, log: o.log}
	defer func() {
		if err != nil {
			shut, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = a.close(shut)
		}
	}()
	noCores(a.log)
	data := dataDir(v)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, dataFolder(data, err)
	}
	if err := proc.Subreaper(); err != nil {
		return nil, err
	}
	if a.registry, err = a.openRegistry(data, o.needToken); err != nil {
		return nil, err
	}
	if a.store, err = store.Open(ctx, data); err != nil {
		return nil, err
	}
	if err := a.openUploads(data); err != nil {
		return nil, err
	}
	if err := a.openBrowsers(data); err != nil {
		return nil, err
	}
	if a.guard, err = openGuard(v, a.registry, data, pages{a.browsers}, a.log); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.sweeping.Go(func() { a.sweep(life) })
	a.sweeping.Go(func() { a.reap(life) })
	a.sweeping.Go(func() { a.guard.prefs.Watch(life) })
	a.engine = local.New(local.Options{RunDir: speechRun(v), ModelsDir: modelsDir(v), Log: a.log})
	var meetings tool.Meetings
	var watcher tool.Watcher
	if v.Bool("PARLEY_FEATURES_MEETINGS") {
		if err := a.openMeetings(data, o.level); err != nil {
			return nil, err
		}
		meetings, watcher = a.seat, a.seat
	}
	kinds := []links.Kind{links.Uploads(a.uploads, a.log)}
	if a.seat != nil {
		kinds = append(kinds, links.Recordings(a.seat, a.log))
	}
	base := v.String("PARLEY_BASE_URL")
	if base == "" {
		base = o.linksAt
	}
	a.links = links.New(links.Options{
		Store: a.store.Links, Auth: a.registry, BaseURL: base, TTL: v.Seconds("PARLEY_DOWNLOAD_URL_TTL_SEC"), Kinds: kinds, Log: a.log,
	})
	var table []tool.Tool
	if meetings != nil {
		table = append(tool.Table(meetings, a.links), tool.TalkTable(a.seat)...)
		table = append(table, tool.AskTable(meetings, newAsker(v, data, a.log))...)
	}
	table = append(table, tool.UploadTable(a.uploads, a.links)...)
	table = append(table, browse.Tools(a.browsers)...)
	table = append(table, browse.UploadTools(a.browsers, a.lender)...)
	host, _ := os.Hostname()
	deadlines, err := tool.ParseDeadlines(v.String("PARLEY_TOOL_TIMEOUTS"))
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("PARLEY_TOOL_TIMEOUTS: %w", err)}
	}
	options := tool.Options{
		Tools: table, Idempotency: a.store.Idempotency, Owner: fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano()),
		Deadline: v.Seconds("PARLEY_TOOL_TIMEOUT_SEC"), Deadlines: deadlines, Log: a.log,
	}
	a.guard.choke.Install(&options)
	a.tools, err = tool.NewService(options)
	if err != nil {
		return nil, err
	}
	if a.seat != nil {
		a.board = mcpl.NewBoard(mcpl.BoardOptions{Set: mcp.MeetingSet, Meetings: a.guard.choke.Talk(a.seat, a.registry), Log: a.log})
	}
	a.server, err = mcp.New(mcp.Options{
		Channels: a.board,
		Version:  version, Tools: a.tools, Auth: a.registry, Events: a.guard.choke.Events(watcher), Answer: a.guard.choke.Answer, BaseURL: v.String("PARLEY_BASE_URL"),
		Hosts: v.List("PARLEY_ALLOWED_HOSTS"), Origins: v.List("PARLEY_ALLOWED_ORIGINS"),
		MCPL:       mcpl.Options{NoFallback: !v.Bool("PARLEY_MCPL_FALLBACK")},
		QueryToken: v.Bool("PARLEY_WS_QUERY_TOKEN"), Links: a.links, Ready: a.store.Ping, Log: a.log,
		Gone: a.ownerGone,
	})
	if err != nil {
		return nil, err
	}
	if o.needToken { // there are agents, and so there may be questions
		a.openPerson(data)
	}
	if o.control {
		err = a.openControl(ctx, data)
	}
	return a, err
}

// tenantConfig reads what the settings say of tenants.
func tenantConfig(v *settings.Values) (c tenant.Config, err error) {
	bad := func(name string, err error) error { return &exitError{exitUsage, fmt.Errorf("%s: %w", name, err)} }
	if c.Tokens, err = tenant.ParseTokens(v.String("PARLEY_TOKENS")); err != nil {
		return c, bad("PARLEY_TOKENS", err)
	}
	for _, t := range c.Tokens {
		if len(t.Token) < tenant.MinToken {
			return c, bad("PARLEY_TOKENS", fmt.Errorf("a token of tenant %s has fewer than %d characters and could be guessed: take a random one, such as `openssl rand -hex 32` gives", t.Tenant, tenant.MinToken))
		}
	}
	if c.Policies, err = tenant.ParsePolicies(v.String("PARLEY_TOKEN_POLICIES")); err != nil {
		return c, bad("PARLEY_TOKEN_POLICIES", err)
	}
	if c.Quotas, err = tenant.ParseQuotas(v.String("PARLEY_TENANT_QUOTAS")); err != nil {
		return c, bad("PARLEY_TENANT_QUOTAS", err)
	}
	if c.Grants, err = tenant.ParseGrants(v.String("PARLEY_TOKEN_GRANTS")); err != nil {
		return c, bad("PARLEY_TOKEN_GRANTS", err)
	}
	return c, nil
}

func (a *app) openRegistry(data string, needToken bool) (*tenant.Registry, error) {
	c, err := tenantConfig(a.v)
	if err != nil {
		return nil, err
	}
	if len(c.Tokens) == 0 && needToken {
		token, made, err := tenant.LocalToken(data)
		if err != nil {
			return nil, dataFolder(data, err)
		}
		id := tenant.DefaultID
		if t := a.v.String("PARLEY_TENANT"); t != "" {
			id = tenant.ID(t)
		}
		c.Tokens = []tenant.Credential{{Tenant: id, Token: token}}
		if made {
			a.firstToken = token
		}
	}
	r, err := tenant.NewRegistry(c)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return r, nil
}

func (a *app) openMeetings(data, level string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	door, err := newDoor(a.v)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	for origin, platform := range door.origins.Standins { // loud, and at every start
		a.log.Warn("FOR DEVELOPMENT ONLY: links on this origin are taken for the platform's own (PARLEY_PLATFORM_ORIGINS)", "origin", origin, "platform", platform)
	}
	days := a.v.Int("PARLEY_RECORDING_RETENTION_DAYS")
	if level == "" {
		level = a.v.String("PARLEY_LOG_LEVEL")
	}
	environ := append(proc.BaseEnv(), "PARLEY_LOG_LEVEL="+level)
	if home, err := os.UserHomeDir(); err == nil {
		environ = append(environ, "HOME="+home)
	}
	a.keeper, err = keeper.New(keeper.Options{
		Env:  environ,
		Data: data, Book: a.store.Meetings, Path: self, MaxMeetings: seat.MaxMeetings(a.v.Int("PARLEY_MAX_MEETINGS")),
		Repair: repair, Retention: files.Policy{Keep: func(string) time.Duration { return time.Duration(days) * 24 * time.Hour }}, Log: a.log,
		Forget: func(t tenant.ID, id string) {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				if a.server != nil {
					_ = a.server.Forget(ctx, t, id) // it has no error to give
				}
				if err := a.links.Revoke(ctx, t, id); err != nil {
					a.log.Error("links of a deleted recording are still there", "meeting", id, "err", err)
				}
				if err := a.store.Idempotency.ForgetMeeting(ctx, t, id); err != nil {
					a.log.Error("results about a deleted meeting are still there", "meeting", id, "err", err)
				}
			}()
		},
	})
	if err != nil {
		return err
	}
	account := ""
	if os.Geteuid() == 0 {
		account = a.v.String("PARLEY_ACCOUNT")
	}
	sandbox := a.v.Bool("PARLEY_CHROMIUM_SANDBOX")
	if !sandbox {
		a.log.Warn("PARLEY_CHROMIUM_SANDBOX=0: the browser runs without its own sandbox; a page that breaks out of its renderer has what its user has")
	}
	fallbacks, err := speechEnv(a.v)
	if err != nil {
		return err
	}
	meter := &seat.Meter{Paid: paidRecogniser, CapMin: float64(a.v.Int("PARLEY_LIVE_TRANSCRIPT_DAILY_MIN")),
		Usage: a.store.Usage, Meet: a.keeper, Log: a.log}
	key, warning := cloudKey(a.v, os.Getenv("GODEBUG"))
	if warning != "" {
		a.log.Warn(warning)
	}
	if key != "" {
		meter.VoiceChars = int64(a.v.Int("PARLEY_TTS_DAILY_CHARS"))
	}
	counting, stop := context.WithCancel(context.Background())
	a.sweeping.Go(func() { meter.Run(counting) })
	a.counting = stop
	a.seat = seat.New(seat.Options{
		Meter:  meter,
		Keeper: a.keeper, Door: door.find, Platforms: door.names(), Data: data, Models: modelsDir(a.v), SpeechRun: speechRun(a.v),
		Ready: a.speechReady, Missing: missing,
		Name: a.v.String("PARLEY_MEETING_NAME"), Owner: a.v.String("PARLEY_MEETING_OWNER"),
		OnAnnounceFailure: a.v.String("PARLEY_ON_ANNOUNCE_FAILURE"), ConsentGate: a.v.String("PARLEY_CONSENT_GATE"),
		AnnounceLangs: strings.FieldsFunc(a.v.String("PARLEY_ANNOUNCE_LANGS"), func(r rune) bool { return r == ',' || r == ' ' }), Captions: a.v.Bool("PARLEY_PLATFORM_CAPTIONS"),
		Speech: speechStore(data), SpeechEnv: fallbacks, TTSURL: a.v.String("PARLEY_TTS_URL"),
		ElevenLabs: key, ElevenLabsURL: a.v.String("PARLEY_ELEVENLABS_URL"), AudioFile: a.audioFile, NoTracks: !a.v.Bool("PARLEY_TRACK_TAPS"), Account: account, Sandbox: sandbox, Chromium: a.v.String("PARLEY_CHROMIUM"),
		Profiles: a.browsers,
	})
	return nil
}

// Kept in the store: what ended meetings were like, and how much was used on which day.
const (
	keepMeetings = 90 * 24 * time.Hour
	keepUsage    = 400 * 24 * time.Hour
)

// sweep forgets once a day what the store need not know any more.
func (a *app) sweep(life context.Context) {
	daily := time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for {
		ctx, cancel := context.WithTimeout(life, time.Minute)
		now := time.Now()
		_, err1 := a.store.Idempotency.Sweep(ctx, now)
		_, err2 := a.store.Meetings.Forget(ctx, now.Add(-keepMeetings))
		_, err3 := a.store.Usage.Forget(ctx, now.Add(-keepUsage))
		cancel()
		if err := errors.Join(err1, err2, err3); err != nil && life.Err() == nil {
			a.log.Warn("the store was not swept", "err", err)
		}
		select {
		case <-daily.C:
		case <-life.Done():
			return
		}
	}
}

// reapEvery is how often we look for the dead: what outlives a meeting's process (the speech process, the browser's
// crash handler) falls to the service.
const reapEvery = 10 * time.Second

// smallHeap is how much garbage, in per cent of what is used, the service lets gather. It uses a few megabytes: collecting
// twice as often costs next to nothing, and what is not there does not count beside a browser. GOGC says otherwise.
const smallHeap = 50

func (a *app) reap(life context.Context) {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(smallHeap)
	}
	var adopted proc.Adopted
	var settler proc.Settler
	for {
		select {
		case <-tick.C:
			// No sound goes through the service, so that nothing waits for the pages that come back.
			if _, err := settler.Look(); err != nil {
				a.log.Warn("unused memory was not given back", "err", err)
			}
			if _, err := adopted.Reap(); err != nil {
				a.log.Warn("dead processes were not reaped", "err", err)
			}
		case <-life.Done():
			return
		}
	}
}

// speechReady says whether live transcripts can be made here.
func (a *app) speechReady(ctx context.Context) (bool, string) {
	st := a.engine.Status(ctx)
	switch st.State {
	case local.StateReady, local.StateLoading, local.StateIdle:
		return true, ""
	}
	why := st.Problem
	if st.Remedy != "" {
		why += "; " + st.Remedy
	}
	return false, why
}

// missing names the first thing without which no meeting can be attended.
func missing() (what, remedy string) {
	for _, p := range []struct{ program, what string }{
		{"pulseaudio", "the sound server PulseAudio is not installed"},
		{"ffmpeg", "the encoder ffmpeg is not installed"},
		{"Xvfb", "the display Xvfb is not installed"},
	} {
		if _, err := exec.LookPath(p.program); err != nil {
			return p.what, "Run make setup, or install it by the system's package manager."
		}
	}
	return "", ""
}

// dataFolder adds what to do when the data folder cannot be used; other errors stay as they are.
func dataFolder(dir string, err error) error {
	var try string
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		try = "the disk is full: make room there, or set PARLEY_DATA to a folder elsewhere"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		try = "this user may not write there: set PARLEY_DATA to a folder of its own"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		try = "set PARLEY_DATA to a folder that this user can make"
	default:
		return err
	}
	return fmt.Errorf("data folder %s: %w (%s)", dir, err, try)
}

// repair makes one playable file of what a dead worker left.
func repair(_ context.Context, set files.Set) (meeting.Recorded, error) {
	info, err := ogg.Join(set.Recording())
	if errors.Is(err, ogg.ErrEmpty) {
		return meeting.Recorded{}, keeper.ErrNothing
	}
	if err != nil {
		return meeting.Recorded{}, err
	}
	return meeting.Recorded{Seconds: info.Seconds, Bytes: info.Bytes, Parts: 1, Path: set.Recording()}, nil
}

// speechRun is the run folder of the machine's speech process: short, since a socket lies in it, and the same for
// every service of this user that has the same models.
func speechRun(v *settings.Values) string { return speechRunFor(modelsDir(v)) }

func speechRunFor(models string) string {
	sum := sha256.Sum256([]byte(models))
	return filepath.Join(os.TempDir(), fmt.Sprintf("parley-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:4])))
}

// serve answers on a listener until ctx ends, then lets meetings leave and closes.
func (a *app) serve(ctx context.Context, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- a.server.Serve(l) }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// close ends everything, meetings first and politely.
func (a *app) close(ctx context.Context) error {
	var errs []error
	if a.asking != nil {
		errs = append(errs, a.asking.Close())
	}
	if a.control != nil {
		errs = append(errs, a.control.close(ctx))
	}
	if a.keeper != nil {
		errs = append(errs, a.keeper.Shutdown(ctx))
	}
	if a.tools != nil {
		errs = append(errs, a.tools.Close(ctx))
	}
	if a.browsers != nil {
		a.browsers.Close()
	}
	if a.lender != nil {
		errs = append(errs, a.lender.close())
	}
	if a.server != nil {
		errs = append(errs, a.server.Close(ctx))
	}
	if a.board != nil {
		a.board.Close()
	}
	if a.uploads != nil { // behind the server, through which files come
		errs = append(errs, a.uploads.Close())
	}
	if a.guard != nil {
		errs = append(errs, a.guard.close())
	}
	if a.engine != nil {
		errs = append(errs, a.engine.Close())
	}
	if a.counting != nil {
		a.counting()
	}
	if a.stop != nil {
		a.stop()
		a.sweeping.Wait()
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	return errors.Join(errs...)
}

// closeWithin ends everything within a time, and logs what did not end well.
func (a *app) closeWithin(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := a.close(ctx); err != nil {
		a.log.Error("not everything ended well", "err", err)
	}
}

// modelsThere says whether the speech models are installed, without reading them.
func modelsThere(v *settings.Values) bool { return models.Ready(models.Status(modelsDir(v))) }
