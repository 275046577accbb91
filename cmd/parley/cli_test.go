package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/speech/models"
	"parley/tool"
)

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("PARLEY_DATA", filepath.Join(t.TempDir(), "data"))
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	return dispatchCaptured(t, args...)
}

// dispatchCaptured runs a command in the environment as it is.
func dispatchCaptured(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = dispatch(context.Background(), &environment{stdin: strings.NewReader(""), stdout: &o, stderr: &e}, args)
	return code, o.String(), e.String()
}

func TestEveryCommandHelps(t *testing.T) {
	for _, c := range commands() {
		code, out, _ := run(t, c.name, "--help")
		if code != exitOK || !strings.HasPrefix(out, "usage: parley "+c.name) {
			t.Errorf("parley %s --help: %d\n%s", c.name, code, out)
		}
		if c.short == "" || len(c.long) < 40 {
			t.Errorf("parley %s says too little of itself", c.name)
		}
		if c.name != "version" && !strings.Contains(out, "example:") {
			t.Errorf("parley %s --help has no example", c.name)
		}
	}
}

func TestWrongUseIsRefusedBeforeAnythingHappens(t *testing.T) {
	for _, args := range [][]string{
		{}, {"frobnicate"}, {"join"}, {"join", "a", "b"}, {"join", "--nope", "x"}, {"guest"}, {"serve", "extra"}, {"stdio", "extra"},
		{"room", "--listen", "7370"}, {"room", "--name", "../x", "--listen", "127.0.0.1:0"}, {"room", "--people", "17"}, {"models", "eat"},
		{"bench"}, {"bench", "none"}, {"doctor", "x"}, {"config", "x"}, {"bridge", "x"}, {"demo", "x"}, {"guest", "x", "--delay", "soon"},
	} {
		code, out, errs := run(t, args...)
		if code != exitUsage || errs == "" || out != "" {
			t.Errorf("parley %s: code %d, out %q, errors %q", strings.Join(args, " "), code, out, errs)
		}
	}
}

func TestABadSettingStopsEveryCommandAndIsNamed(t *testing.T) {
	t.Setenv("PARLEY_MAX_MEETINGS", "lots")
	for _, name := range []string{"serve", "stdio", "config", "doctor", "models", "demo"} {
		code, _, errs := run(t, name)
		if code != exitUsage || !strings.Contains(errs, "PARLEY_MAX_MEETINGS") {
			t.Errorf("parley %s: code %d, %q", name, code, errs)
		}
	}
}

func TestTheBridgeNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PARLEY_URL", "")
	t.Setenv("PARLEY_TOKEN", "")
	if code, _, errs := run(t, "bridge"); code != exitUsage || !strings.Contains(errs, "PARLEY_URL") {
		t.Errorf("code %d, %q", code, errs)
	}
}

func TestFlagsMayStandBehindArguments(t *testing.T) {
	code, _, errs := run(t, "guest", "nonsense", "--name", "Ada")
	if code != exitUsage || !strings.Contains(errs, "link of a room") {
		t.Errorf("code %d, %q", code, errs)
	}
}

func TestControlCharactersOfOthersDoNotReachTheTerminal(t *testing.T) {
	if got := plain("a\x1b[31mb\u202ec\u009bd"); strings.ContainsAny(got, "\x1b\u202e\u009b") {
		t.Errorf("%q", got)
	}
}

func TestWhatATerminalShowsOfAMeeting(t *testing.T) {
	var o bytes.Buffer
	j := &joined{env: &environment{stdout: &o, stderr: &o}}
	ada := &tool.People{People: []tool.Person{{Name: "Ada"}, {Name: "Parley", Self: true}}}
	for _, ev := range []tool.Event{
		{Kind: tool.EventState, State: "attending"},
		{Kind: tool.EventPeople, People: ada},
		{Kind: tool.EventPeople, People: ada}, // a hand went up: the same people
		{Kind: tool.EventPeople, People: &tool.People{}},
		{Kind: tool.EventTranscriptStopped, Fault: &tool.Fault{Part: "transcript", Reason: "stopped"}},
		{Kind: tool.EventEnded, End: &tool.End{Reason: "left", ReasonText: "We were told to leave."}},
	} {
		j.show(ev)
	}
	if err := j.end(nil); err != nil {
		t.Error(err)
	}
	want := "[state] attending\n[here] Ada\n[here] nobody else\n[transcript-stopped] transcript-stopped: transcript (stopped)\n" +
		"ended: left. We were told to leave.\n"
	if o.String() != want {
		t.Errorf("shown:\n%swant:\n%s", o.String(), want)
	}
}

func TestHowTheMeetingEndedIsTheExitCode(t *testing.T) {
	for reason, want := range map[string]int{
		"left": exitOK, "alone": exitOK, "objection": exitOK, "ended-for-all": exitOK,
		"denied": exitRefused, "unreachable": exitRefused, "removed": exitRefused,
		"join-failed": exitFailed, "sound-lost": exitFailed, "announce-failed": exitFailed, "crashed": exitFailed, "unheard-of": exitFailed,
	} {
		var o bytes.Buffer
		j := &joined{env: &environment{stdout: &o, stderr: &o}, ended: &tool.End{Reason: reason, ReasonText: "because"}}
		code := exitOK
		var e *exitError
		if errors.As(j.end(nil), &e) {
			code = e.code
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d", reason, code, want)
		}
	}
}

func TestWhatWasNotKeptIsSaidAtTheEnd(t *testing.T) {
	var o bytes.Buffer
	j := &joined{env: &environment{stdout: &o, stderr: &o}, ended: &tool.End{Reason: "left", ReasonText: "We left."}}
	var e *exitError
	if err := j.end([]string{"The recording broke off (disk-full)."}); !errors.As(err, &e) || e.code != exitFailed {
		t.Errorf("%v", err)
	}
	if !strings.Contains(o.String(), "warning: The recording broke off (disk-full).") {
		t.Errorf("%s", o.String())
	}
}

func TestWhyAJoinWasNotBegunIsTheExitCode(t *testing.T) {
	for code, want := range map[tool.Code]int{
		tool.CodeBadLink: exitUsage, tool.CodeBadArgument: exitUsage, tool.CodeTextTooLong: exitUsage,
		tool.CodeMissingDependency: exitMissing, tool.CodeWorkerFailed: exitFailed, tool.CodeNoDiskSpace: exitFailed,
		tool.CodeDenied: exitRefused, tool.CodeMeetingsFull: exitRefused, tool.CodeQuotaFull: exitRefused, tool.CodeMeetingsOff: exitRefused,
	} {
		if got := refusedJoin(tool.Fail(code)); got != want {
			t.Errorf("%s: exit code %d, want %d", code, got, want)
		}
	}
	if got := refusedJoin(errors.New("another")); got != exitFailed {
		t.Errorf("an error that is not a refusal: exit code %d", got)
	}
	// The policy says no to other schemes before anything is started.
	if code, _, errs := run(t, "join", "ftp://x/y"); code != exitRefused {
		t.Errorf("parley join ftp://x/y: exit code %d, %q", code, errs)
	}
}

func TestARoomSaysWhatToDoWhereItsPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, out, errs := run(t, "room", "--listen", l.Addr().String())
	if code != exitFailed || out != "" || !strings.Contains(errs, "in use") || !strings.Contains(errs, "--listen") {
		t.Errorf("code %d, out %q, errors %q", code, out, errs)
	}
}

func TestAMissingPartIsOneLineAndADamagedFileIsNamed(t *testing.T) {
	var o bytes.Buffer
	err := printModels(&o, "/models", []models.Item{
		{Part: "voices", File: "voices/a.bin", State: models.Missing}, {Part: "voices", File: "voices/b.bin", State: models.Missing},
		{Part: "vad", File: "vad/x.onnx", State: models.Corrupt, Remedy: "fetch it"}, {Part: "turn", File: "turn/y.onnx", State: models.OK},
	}, false)
	if s := o.String(); err == nil || strings.Contains(s, "a.bin") || !strings.Contains(s, "vad/x.onnx is corrupt: fetch it") || !strings.Contains(s, "0 of  2") {
		t.Errorf("%v\n%s", err, s)
	}
}

func TestADamagedPartOfTheModelsIsNotCalledMissing(t *testing.T) {
	for state, want := range map[models.State]string{models.Corrupt: "CORRUPT", models.Unread: "UNREAD", models.Missing: "MISSING", models.OK: "ok"} {
		var o bytes.Buffer
		err := printModels(&o, "/models", []models.Item{{Part: "whisper", File: "a", State: models.OK}, {Part: "whisper", File: "b", State: state, Remedy: "fetch it"}}, false)
		line := strings.Split(o.String(), "\n")[1]
		if !strings.HasPrefix(strings.TrimSpace(line), want+" ") || (err == nil) != (state == models.OK) {
			t.Errorf("%s: %q, %v", state, o.String(), err)
		}
	}
}

// Whatever is wrong with the data folder, the first start says which folder it is and what to set.
func TestADataFolderThatCannotBeIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	for _, dir := range []string{"/proc/nope", "/dev/null/x", file} {
		t.Setenv("PARLEY_DATA", dir)
		code, _, errs := dispatchCaptured(t, "serve")
		if code != exitFailed || !strings.Contains(errs, dir) || !strings.Contains(errs, "PARLEY_DATA") {
			t.Errorf("%s: code %d, %q", dir, code, errs)
		}
	}
	for err, want := range map[error]string{
		syscall.ENOSPC: "make room", syscall.EDQUOT: "make room", syscall.EROFS: "may not write", fs.ErrPermission: "may not write",
	} {
		if got := dataFolder("/x", err); !strings.Contains(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// A reader that goes away ends what runs, as an interrupt does.
func TestAReaderThatGoesAwayIsAnInterrupt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	ctx, stop := context.WithCancel(t.Context())
	out := &reader{w, stop}
	if _, err := out.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
	if ctx.Err() == nil {
		t.Error("nobody is told")
	}
}

// Our own processes run in other folders: what is told them does not depend on ours.
func TestFoldersAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	t.Setenv("PARLEY_DATA", "data")
	t.Setenv("PARLEY_MODELS", "../models")
	v, err := loadSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := dataDir(v); got != filepath.Join(here, "data") {
		t.Errorf("data in %s", got)
	}
	if got := modelsDir(v); got != filepath.Join(filepath.Dir(here), "models") {
		t.Errorf("models in %s", got)
	}
}
