package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/meeting"
	"parley/tenant"
	"parley/tool"
)

type joinOptions struct {
	args tool.JoinArgs
	json bool
	opts struct {
		noRecord, noTranscript, stay bool
		silence                      float64
	}
}

var joinCommand = &command{
	name:  "join",
	args:  "URL [flags]",
	short: "attend one meeting from this terminal: live transcript, type to chat, /say to speak",
	long: `Attends one meeting and prints what is said as it is said, with names. What you type goes into the
chat; /say TEXT speaks it, /stop falls silent, /hand and /lower work the hand, /mute and /unmute the
microphone, /record off [delete] stops recording, /answer CHOICE answers a question, /status tells how it
is, /leave leaves. Ctrl-C leaves politely. With its input closed it stays until the meeting ends.
Recording and transcript are kept in the data folder; their places are printed at the end.`,
	example: "parley join http://127.0.0.1:7370/room/demo --name 'Ada (AI notetaker)'",
	flags: func(fs *flag.FlagSet) any {
		o := &joinOptions{}
		fs.StringVar(&o.args.Name, "name", "", "display `name`")
		fs.StringVar(&o.args.Announce, "announce", "chat", "who is told that we record: chat, host or none")
		fs.StringVar(&o.args.AnnounceReason, "announce-reason", "", "with --announce none: why nobody is told")
		fs.StringVar(&o.args.OnAnnounceFailure, "on-announce-failure", "", "refuse, host_only or record")
		fs.StringVar(&o.args.Lang, "lang", "", "`language` spoken, such as en; detected when empty")
		fs.Float64Var(&o.args.MaxWaitAdmitMin, "max-wait", 10, "`minutes` to wait to be let in")
		fs.IntVar(&o.args.AloneLeaveSec, "alone", 30, "`seconds` alone before leaving")
		fs.BoolVar(&o.opts.noRecord, "no-record", false, "do not record")
		fs.BoolVar(&o.opts.noTranscript, "no-transcript", false, "do not write down what is said")
		fs.BoolVar(&o.opts.stay, "stay-on-optout", false, "stay, without recording, after somebody objected")
		fs.Float64Var(&o.opts.silence, "vad-silence", 0, "pause in `seconds` that ends a segment")
		fs.BoolVar(&o.json, "json", false, "print events as JSON lines instead of text")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*joinOptions)
		if len(args) != 1 {
			return fail(exitUsage, "it takes one argument, the meeting's link")
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		log := quietLogger(env, v)
		a, err := newApp(ctx, v, appOptions{log: log, level: quietLevel(v)})
		if err != nil {
			return err
		}
		defer a.closeWithin(30 * time.Second)
		t, err := a.registry.Local(tenant.ID(v.String("PARLEY_TENANT")))
		if err != nil {
			return &exitError{exitUsage, err}
		}
		o.args.URL = args[0]
		o.args.Record, o.args.LeaveOnOptout, o.args.Wait, o.args.Partials = !o.opts.noRecord, !o.opts.stay, true, true
		if o.opts.noTranscript {
			off := false
			o.args.LiveTranscript = &off
		}
		if o.opts.silence > 0 {
			o.args.VADSilence = &o.opts.silence
		}
		o.args.Permits = []string{"record", "announce", "speak", "chat"}
		j := &joined{app: a, env: env, by: tool.Caller{Principal: tenant.Principal{Tenant: t}, Transport: "cli"}, json: o.json}
		return j.attend(ctx, o.args)
	},
}

// joined is a meeting on a terminal.
type joined struct {
	app  *app
	env  *environment
	by   tool.Caller
	json bool

	mu      sync.Mutex
	id      string
	partial bool // the last line is an unfinished one
	ended   *tool.End

	here string // who was named last; only the loop's goroutine looks
}

// call makes a tool call as any client would.
func (j *joined) call(ctx context.Context, name string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	ans := j.app.tools.Invoke(ctx, tool.Call{Tool: name, Args: raw, Caller: j.by})
	if ans.Err != nil {
		return ans.Err
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(ans.Structured, result)
}

func (j *joined) attend(ctx context.Context, args tool.JoinArgs) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // the end is heard also after Ctrl-C
	defer stop()
	events := j.app.seat.Watch(watching)
	var st tool.Status
	if err := j.call(ctx, "meeting_join", args, &st); err != nil {
		if code := refusedJoin(err); code != exitFailed {
			return &exitError{code, err}
		}
		return err
	}
	j.mu.Lock()
	j.id = st.Meeting
	j.mu.Unlock()
	for _, w := range st.Warnings {
		j.say("! %s", w)
	}
	j.say("meeting %s: %s", st.Meeting, st.State)
	lines := make(chan string)
	go j.read(lines)
	told := ctx.Done()
	for {
		select {
		case ev, ok := <-events:
			if !ok {
				return errors.New("the meeting went away without saying how")
			}
			if ev.Meeting == st.Meeting {
				j.show(ev)
			}
			if j.ended != nil {
				return j.end(j.missing(st.Meeting))
			}
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			j.obey(ctx, line)
		case <-told:
			told = nil
			j.say("leaving")
			go func() {
				leave, cancel := context.WithTimeout(watching, 25*time.Second)
				defer cancel()
				if err := j.call(leave, "meeting_leave", tool.MeetingArgs{Meeting: st.Meeting}, nil); err != nil {
					j.say("! %v", err)
				}
			}()
		}
	}
}

// read is the goroutine that reads what is typed; it ends with the input, at the latest with the process.
func (j *joined) read(lines chan<- string) {
	defer close(lines)
	sc := bufio.NewScanner(j.env.stdin)
	for sc.Scan() {
		if s := strings.TrimSpace(sc.Text()); s != "" {
			lines <- s
		}
	}
}

// obey does what was typed. Speaking may take long, so that it runs beside.
func (j *joined) obey(ctx context.Context, line string) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	m := tool.MeetingArgs{Meeting: j.id}
	do := func(name string, args any) {
		go func() {
			if err := j.call(ctx, name, args, nil); err != nil {
				j.say("! %v", err)
			}
		}()
	}
	switch word {
	case "/say":
		if rest == "" {
			j.say("! /say TEXT: there is nothing to say")
			return
		}
		do("meeting_speak", tool.SpeakArgs{MeetingArgs: m, Text: rest, AutoMute: true, Wait: true})
	case "/stop":
		do("meeting_stop_speaking", m)
	case "/hand", "/lower":
		do("meeting_raise_hand", tool.HandArgs{MeetingArgs: m, On: word == "/hand"})
	case "/mute", "/unmute":
		do("meeting_mute", tool.MuteArgs{MeetingArgs: m, On: word == "/mute"})
	case "/record":
		if !strings.HasPrefix(rest, "off") {
			j.say("! /record off stops it for good; /record off delete also deletes what there is")
			return
		}
		del := strings.HasSuffix(rest, "delete")
		go func() {
			if err := j.call(ctx, "meeting_stop_recording", tool.StopRecordingArgs{MeetingArgs: m, Delete: del}, nil); err != nil {
				j.say("! %v", err)
			} else if del {
				j.say("recording and transcript are stopped and deleted; a marker without content stays")
			} else {
				j.say("recording and transcript are stopped; what there is stays")
			}
		}()
	case "/leave":
		do("meeting_leave", m)
	case "/status", "/answer":
		var st tool.Status
		if err := j.call(ctx, "meeting_status", m, &st); err != nil {
			j.say("! %v", err)
			return
		}
		if word == "/answer" {
			if st.Question == nil {
				j.say("! there is no open question")
				return
			}
			do("meeting_answer", tool.AnswerArgs{MeetingArgs: m, Question: st.Question.ID, Choice: rest})
			return
		}
		j.say("%s, recording %t (%.0f s), microphone %s", st.State, st.Recording, st.RecordingSeconds, st.Microphone)
	default:
		if strings.HasPrefix(line, "/") {
			j.say("! %s is no command: /say /stop /hand /lower /mute /unmute /record /answer /status /leave", word)
			return
		}
		do("meeting_chat_send", tool.ChatSendArgs{MeetingArgs: m, Text: line})
	}
}

// show prints an event.
func (j *joined) show(ev tool.Event) {
	if ev.End != nil {
		j.ended = ev.End
	}
	if j.json {
		_ = json.NewEncoder(j.env.stdout).Encode(ev) // a reader that went away does not end the meeting
		return
	}
	switch {
	case ev.Line != nil:
		who := "?"
		if ev.Line.Speaker != nil && ev.Line.Speaker.Name != "" {
			who = plain(ev.Line.Speaker.Name)
		}
		text := fmt.Sprintf("[%s] %s: %s", clock(ev.Line.Start), who, plain(ev.Line.Text))
		switch {
		case ev.Line.Rev > 0:
			text = "(corrected) " + text
		case !ev.Line.Final:
			j.unfinished(text)
			return
		}
		j.say("%s", text)
	case ev.Chat != nil:
		who := plain(ev.Chat.Sender)
		if ev.Chat.Own {
			who = "we"
		}
		j.say("[chat] %s: %s", who, plain(ev.Chat.Text))
	case ev.People != nil:
		var names []string
		for _, p := range ev.People.People {
			if !p.Self {
				names = append(names, plain(p.Name))
			}
		}
		// A raised hand or a muted microphone is an event as well; the same people are not named again.
		here := strings.Join(names, ", ")
		if here == "" {
			here = "nobody else"
		}
		if here != j.here {
			j.here = here
			j.say("[here] %s", here)
		}
	case ev.State != "":
		j.say("[state] %s", ev.State)
	case ev.End != nil: // end prints it
	case ev.Question != nil:
		j.say("[question] %s; /answer %s (otherwise %s)", plain(ev.Question.Text), strings.Join(ev.Question.Choices, " | "), ev.Question.Default)
	default:
		if s := ev.Own(); s != "" {
			j.say("[%s] %s", ev.Kind, s)
		}
	}
}

// missing is what the meeting should have left behind and did not.
func (j *joined) missing(id string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var st tool.Status
	if err := j.call(ctx, "meeting_status", tool.MeetingArgs{Meeting: id}, &st); err != nil {
		return nil // the end itself has been told
	}
	if !st.Incomplete {
		return nil
	}
	return st.Warnings
}

func (j *joined) end(missing []string) error {
	e := j.ended
	if !j.json {
		for _, w := range missing {
			j.say("warning: %s", w)
		}
		if e.Path != "" {
			j.say("recording: %s (%.1f s, %d bytes)", e.Path, e.Seconds, e.Bytes)
		}
		if e.Deleted {
			j.say("the recording and the transcript's text were deleted")
		}
		if meeting.Reason(e.Reason).Ending().Expected {
			j.say("ended: %s. %s", e.Reason, e.ReasonText)
		} else {
			j.say("ended: %s", e.Reason) // what it means is printed as the error
		}
	}
	why := meeting.Reason(e.Reason).Ending()
	switch {
	case why.Expected && len(missing) > 0:
		return &exitError{exitFailed, errors.New("the meeting was attended, and not all of it was kept")}
	case why.Expected:
		return nil
	}
	code := exitFailed
	if refusals[why.Reason] {
		code = exitRefused
	}
	return &exitError{code, errors.New(e.ReasonText)}
}

// refusedJoin is the exit code of a join that was not begun.
func refusedJoin(err error) int {
	var e *tool.Error
	if !errors.As(err, &e) {
		return exitFailed
	}
	switch e.Code {
	case tool.CodeBadLink, tool.CodeUnknownPlatform, tool.CodeUnsupported, tool.CodeBadArgument, tool.CodeTextTooLong:
		return exitUsage
	case tool.CodeMissingDependency:
		return exitMissing
	case tool.CodeDenied, tool.CodeDeclined, tool.CodeNobodyToAsk, tool.CodeApprovalNeeded, tool.CodeNotAllowed, tool.CodeGrantMissing,
		tool.CodeRateLimited, tool.CodeTooManyCalls, tool.CodeMeetingsOff, tool.CodeMeetingsFull, tool.CodeQuotaFull:
		return exitRefused
	}
	return exitFailed
}

// refusals are the unexpected ends in which somebody said no.
var refusals = map[meeting.Reason]bool{
	meeting.ReasonDenied: true, meeting.ReasonNoAnswer: true, meeting.ReasonRefusedByPlatform: true, "refused_by_google": true,
	meeting.ReasonSignInRequired: true, meeting.ReasonCaptcha: true, meeting.ReasonBotWall: true, meeting.ReasonInvalidMeeting: true,
	meeting.ReasonNotStarted: true, meeting.ReasonPasscodeWrong: true, meeting.ReasonWebClientOff: true, meeting.ReasonUnreachable: true,
	meeting.ReasonUnsupportedVariant: true, meeting.ReasonRemoved: true, meeting.ReasonCapacity: true,
}

func (j *joined) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.env.stdout
	if j.json {
		out = j.env.stderr
	}
	if j.partial {
		fmt.Fprint(out, "\r\033[K")
		j.partial = false
	}
	fmt.Fprintf(out, format+"\n", args...)
}

// unfinished shows speech that is still being said, on a terminal only.
func (j *joined) unfinished(text string) {
	if !isTerminal(j.env.stdout) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := []rune(text); len(r) > 100 {
		text = "…" + string(r[len(r)-99:])
	}
	fmt.Fprintf(j.env.stdout, "\r\033[K%s", text)
	j.partial = true
}

func clock(s float64) string { return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60) }

// plain takes what a terminal would obey out of other people's words.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return ' '
		}
		return r
	}, s)
}
