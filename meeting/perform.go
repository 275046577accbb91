package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"parley/meeting/wire"
)

// Times of effects. The machine has deadlines of its own; these make sure that a goroutine does not stay behind.
const (
	takeDownTime = 6 * time.Second
	fileQueue    = 1024 // appends and notes that wait for the disk
)

// performer does what the machine wants. all is called by the loop; the rest runs in goroutines that takeDown waits for.
type performer struct {
	ports Ports
	out   Outlet
	post  func(Event) bool

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	call   Call
	spoken map[string]*speaking

	telling  sync.Mutex // of seq
	seq      int64
	evidence string // the folder of the evidence; set once, before the end is told

	erased atomic.Bool // the recording was deleted: what was said is not kept or told any more

	files chan func()
	lost  int // file work that found the queue full
}

// speaking is an utterance from Prepare to its end.
type speaking struct {
	cancel context.CancelFunc
	spoken Spoken // nil while it is prepared
}

var errOver = errors.New("the meeting is over")

func newPerformer(ports Ports, out Outlet, post func(Event) bool) *performer {
	p := &performer{ports: ports, out: out, post: post, spoken: map[string]*speaking{}, files: make(chan func(), fileQueue)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.wg.Go(func() { // one writer, so that lines stay in their order
		for f := range p.files {
			f()
		}
	})
	return p
}

// all performs the effects of one step: those that wait for nobody first.
func (p *performer) all(effects []Effect) {
	for _, e := range effects {
		if _, ok := e.(Immediate); ok {
			p.one(e)
		}
		if _, ok := e.(DeleteRecording); ok {
			p.erased.Store(true) // before anything is told: finals that wait for the disk are not
		}
	}
	for _, e := range effects {
		if _, ok := e.(Immediate); !ok {
			p.one(e)
		}
	}
}

func (p *performer) one(e Effect) {
	switch e := e.(type) {
	case OpenGate:
		p.ports.Gate.Open()
	case CloseGate:
		p.ports.Gate.Close()
	case ForgetHearing:
		if p.ports.Hearing != nil {
			p.ports.Hearing.Forget()
		}
	case StopSpeech:
		p.stopSpeech(e.ID)
	case DuckSpeech:
		if s := p.speaking(e.ID); s != nil {
			s.Duck(e.On)
		}

	case Open:
		p.run(limits[Starting]+5*time.Second, p.open)
	case Join:
		p.onCall(limits[Lobby]+answerTime+5*time.Second, func(ctx context.Context, c Call) Event { return Joined{Err: c.Join(ctx, e.JoinRequest)} }, Joined{Err: errOver})
	case SendChat:
		p.onCall(chatTime, func(ctx context.Context, c Call) Event {
			r, err := c.SendChat(ctx, e.Text, e.To)
			return ChatSent{Op: e.Op, Receipt: r, Err: late(ctx, err)}
		}, ChatSent{Op: e.Op, Err: errOver})
	case SetMicrophone:
		p.onCall(micTime, func(ctx context.Context, c Call) Event {
			d, err := c.SetMicrophone(ctx, e.On)
			return MicrophoneSet{Op: e.Op, Device: d, Err: late(ctx, err)}
		}, MicrophoneSet{Op: e.Op, Device: DeviceUnknown, Err: errOver})
	case RaiseHand:
		p.onCall(handTime, func(ctx context.Context, c Call) Event {
			h, ok := c.(HandRaiser)
			if !ok {
				return HandRaised{Op: e.Op, Err: ErrCannot}
			}
			return HandRaised{Op: e.Op, Err: late(ctx, h.RaiseHand(ctx, e.Up))}
		}, HandRaised{Op: e.Op, Err: errOver})
	case AnswerDialog:
		p.onCall(handTime, func(ctx context.Context, c Call) Event {
			a, ok := c.(DialogAnswerer)
			if !ok {
				return DialogAnswered{Op: e.Op, Err: ErrCannot}
			}
			return DialogAnswered{Op: e.Op, Err: late(ctx, a.AnswerDialog(ctx, e.ID, e.Choice))}
		}, DialogAnswered{Op: e.Op, Err: errOver})
	case LeaveCall:
		p.onCall(hangUpTime, func(ctx context.Context, c Call) Event { return CallLeft{Err: c.Leave(ctx)} }, CallLeft{Err: errOver})
	case KeepPicture:
		p.onCall(pictureTime, func(ctx context.Context, c Call) Event { return p.picture(ctx, c, e.Name) }, EvidenceKept{Err: errOver})

	case ArmRecorder:
		if a, ok := p.ports.Recorder.(Armer); ok {
			p.run(recorderStartTime, func(ctx context.Context) Event { _ = a.Arm(ctx); return nil })
		}
	case StartRecorder:
		p.run(recorderStartTime, func(ctx context.Context) Event {
			if p.ports.Recorder == nil {
				return RecorderStarted{Op: e.Op, Err: ErrCannot}
			}
			return RecorderStarted{Op: e.Op, Err: p.ports.Recorder.Start(ctx)}
		})
	case StopRecorder:
		p.run(recorderStopTime, func(ctx context.Context) Event {
			if p.ports.Recorder == nil {
				return RecorderStopped{Op: e.Op}
			}
			r, err := p.ports.Recorder.Stop(ctx)
			return RecorderStopped{Op: e.Op, Recorded: r, Err: err}
		})
	case DeleteRecording:
		p.run(eraseTime, func(ctx context.Context) Event {
			was := p.recorded()
			marked, err := p.delete(ctx)
			return RecordingDeleted{Op: e.Op, Marked: marked, Was: was, Err: err}
		})
	case StartTranscript:
		p.run(transcriptStartTime, func(ctx context.Context) Event {
			if p.ports.Hearing == nil {
				return TranscriptStarted{Op: e.Op, Err: ErrCannot}
			}
			return TranscriptStarted{Op: e.Op, Err: p.ports.Hearing.Start(ctx)}
		})
	case StopTranscript:
		p.run(transcriptStopTime, func(ctx context.Context) Event {
			if p.ports.Hearing == nil {
				return TranscriptStopped{Op: e.Op}
			}
			return TranscriptStopped{Op: e.Op, Err: p.ports.Hearing.Stop(ctx)}
		})
	case Append:
		if log := p.ports.Log; log != nil {
			p.file(func() {
				if p.erased.Load() {
					return
				}
				if err := log.Append(e.Segment); err != nil && !p.erased.Load() {
					p.post(Fault{Part: PartDisk, Kind: "transcript-not-kept", Err: err})
				}
			})
		}
	case Note:
		if f := p.ports.Files; f != nil {
			p.file(func() {
				if err := f.Note(e.Entry); err != nil {
					p.post(Fault{Part: PartDisk, Kind: "ledger-not-kept", Err: err})
				}
			})
		}

	case PrepareSpeech:
		p.prepare(e.Utterance)
	case PlaySpeech:
		p.play(e.ID)
	case DropSpeech:
		p.drop(e.ID)
	case WarmSpeech:
		if w, ok := p.ports.Voice.(Warmer); ok {
			p.run(time.Minute, func(ctx context.Context) Event { w.Warm(ctx, e.Texts); return nil })
		}

	case Tell:
		// A final is on disk before anybody hears of it, so is the ledger's line of a deletion, and the end comes
		// behind the last of them.
		if t := e.Report.Transcript; behindLedger(e.Report) || (t != nil && t.Final && p.ports.Log != nil) {
			p.behindFiles(func() {
				if t == nil || !p.erased.Load() {
					p.tell(e.Report)
				}
			})
		} else {
			p.tell(e.Report)
		}
	case Answer:
		if e.Body.Status != nil {
			p.measure(e.Body.Status)
		}
		if e.Body.Deleted != nil { // a receipt: the ledger has it before anybody holds it
			p.behindFiles(func() { p.out.Answer(e.ID, e.Body) })
		} else {
			p.out.Answer(e.ID, e.Body)
		}
	case KeepEvidence:
		p.keep(e)
	}
}

func behindLedger(r wire.Report) bool {
	return r.Ended != nil || (r.OptOut != nil && r.OptOut.Deleted)
}

// run performs outside the loop, with a deadline, and posts what came of it.
func (p *performer) run(limit time.Duration, f func(context.Context) Event) {
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, limit)
		defer cancel()
		if ev := f(ctx); ev != nil {
			p.post(ev)
		}
	})
}

// onCall is run for what needs the page; without one the answer is otherwise.
func (p *performer) onCall(limit time.Duration, f func(context.Context, Call) Event, otherwise Event) {
	p.mu.Lock()
	c := p.call
	p.mu.Unlock()
	p.run(limit, func(ctx context.Context) Event {
		if c == nil {
			return otherwise
		}
		return f(ctx, c)
	})
}

// late turns the end of an effect's own time into the error that says so.
func late(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.Join(ErrLate, err)
	}
	return err
}

func (p *performer) open(ctx context.Context) Event {
	c, err := p.ports.Opener.Open(ctx)
	if err != nil {
		return Opened{Err: err}
	}
	p.mu.Lock()
	p.call = c
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			select {
			case ev, ok := <-c.Events():
				if !ok {
					p.post(PageGone{})
					return
				}
				p.post(Seen{ev})
			case <-p.ctx.Done():
				return
			}
		}
	})
	return Opened{}
}

func (p *performer) picture(ctx context.Context, c Call, name string) Event {
	if w, ok := c.(Witness); ok && p.ports.Files != nil && !p.erased.Load() {
		if raw, err := json.MarshalIndent(w.Testimony(ctx), "", " "); err == nil {
			_, _ = p.ports.Files.Keep("page.json", raw) // the picture below tells what is wrong with the folder
		}
	}
	png, err := c.Picture(ctx)
	if err != nil || p.ports.Files == nil {
		return EvidenceKept{Err: errors.Join(err, ErrCannot)}
	}
	path, err := p.ports.Files.Keep(name+".png", png)
	return EvidenceKept{Path: path, Err: err}
}

// delete: the marker first, so that a crash at any later point is finished by the next start. A recorder that hangs
// holds nothing up: what stands on disk is unlinked at once, and again when the recorder has let go.
func (p *performer) delete(ctx context.Context) (marked bool, err error) {
	var errs []error
	f := p.ports.Files
	if f != nil {
		if err := f.Mark(ctx); err != nil {
			errs = append(errs, err)
		} else {
			marked = true
		}
	}
	stopped := make(chan error, 1)
	go func() { // ends by ctx at the latest, as the contract of Recorder says
		if p.ports.Recorder == nil {
			stopped <- nil
			return
		}
		stopped <- p.ports.Recorder.Delete(ctx)
	}()
	if p.ports.Log != nil {
		errs = append(errs, p.ports.Log.Erase())
	}
	if f != nil {
		errs = append(errs, f.Unlink(ctx))
	}
	select {
	case err := <-stopped:
		errs = append(errs, err)
	case <-ctx.Done():
		errs = append(errs, ErrLate)
	}
	if f != nil {
		errs = append(errs, f.Unlink(ctx))
	}
	return marked, errors.Join(errs...)
}

// file hands work to the one writer. When the disk hangs for longer than the queue is long, lines are lost and counted.
func (p *performer) file(f func()) {
	select {
	case p.files <- f:
	default:
		p.lost++
	}
}

// behindFiles does something after the file work that waits. It is never lost: with the queue full it comes early.
func (p *performer) behindFiles(f func()) {
	select {
	case p.files <- f:
	default:
		f()
	}
}

func (p *performer) prepare(u Utterance) {
	ctx, cancel := context.WithTimeout(p.ctx, prepareTime+playTime)
	s := &speaking{cancel: cancel}
	p.mu.Lock()
	p.spoken[u.ID] = s
	p.mu.Unlock()
	p.wg.Go(func() {
		if p.ports.Voice == nil {
			p.post(SpeechReady{ID: u.ID, Err: ErrCannot})
			return
		}
		sp, err := p.ports.Voice.Prepare(ctx, u)
		if err != nil {
			p.post(SpeechReady{ID: u.ID, Err: err})
			return
		}
		p.mu.Lock()
		dropped := p.spoken[u.ID] != s
		s.spoken = sp
		p.mu.Unlock()
		if dropped {
			_ = sp.Close()
			return
		}
		d := sp.Duration()
		p.post(SpeechReady{ID: u.ID, Duration: d})
		if mk, ok := sp.(Maker); ok && d == 0 {
			select {
			case <-mk.Made():
				p.post(SpeechMade{ID: u.ID, Duration: sp.Duration()})
			case <-ctx.Done():
			}
		}
	})
}

func (p *performer) speaking(id string) Spoken {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.spoken[id]; s != nil {
		return s.spoken
	}
	return nil
}

func (p *performer) play(id string) {
	p.mu.Lock()
	s := p.spoken[id]
	p.mu.Unlock()
	if s == nil || s.spoken == nil {
		return
	}
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, playTime)
		defer cancel()
		played, err := s.spoken.Play(ctx, func() { p.post(SpeechStarted{id}) })
		p.drop(id)
		p.post(SpeechEnded{ID: id, Played: played, Err: late(ctx, err)})
	})
}

func (p *performer) stopSpeech(id string) {
	if s := p.speaking(id); s != nil {
		s.Stop()
	}
}

func (p *performer) drop(id string) {
	p.mu.Lock()
	s := p.spoken[id]
	delete(p.spoken, id)
	var sp Spoken
	if s != nil {
		sp = s.spoken
	}
	p.mu.Unlock()
	if s == nil {
		return
	}
	s.cancel()
	if sp != nil {
		_ = sp.Close()
	}
}

// tell numbers a report, in the order in which they are told.
func (p *performer) tell(r wire.Report) {
	switch { // these follow the evidence in the same step
	case r.Ended != nil && r.Ended.Evidence == "":
		r.Ended.Evidence = p.evidence
	case r.Status != nil && r.Status.Evidence == "":
		r.Status.Evidence = p.evidence
	}
	p.telling.Lock()
	defer p.telling.Unlock()
	if r.Status != nil {
		p.measure(r.Status)
	} else {
		p.seq++
		r.Seq = p.seq
	}
	r.At = time.Now().UnixMilli()
	p.out.Report(r)
}

// measure fills in what only the recorder knows.
func (p *performer) measure(s *wire.Status) {
	if h, ok := p.ports.Hearing.(Metered); ok {
		s.StreamedS = h.Streamed().Seconds()
	}
	if v, ok := p.ports.Voice.(Spender); ok {
		s.VoiceChars = v.Spent()
	}
	if s.RecordingClosed || s.Deleted {
		return
	}
	r := p.recorded()
	s.RecordingSeconds, s.RecordingBytes, s.RecordingGapS, s.RecordingParts = r.Seconds, r.Bytes, r.Gap, r.Parts
}

func (p *performer) recorded() Recorded {
	if p.ports.Recorder == nil {
		return Recorded{}
	}
	return p.ports.Recorder.Recorded()
}

// keep writes how it came about. It happens once, at the end, and on the spot: the files are small.
func (p *performer) keep(e KeepEvidence) {
	if p.ports.Files == nil {
		return
	}
	raw, err := json.MarshalIndent(e.Transitions, "", " ")
	kept := ""
	if err == nil {
		kept, err = p.ports.Files.Keep("evidence.json", raw)
	}
	if err == nil {
		p.evidence = path.Dir(kept)
	} else {
		p.tell(wire.Report{Fault: &wire.Fault{Part: string(PartDisk), Kind: "evidence-not-kept", Action: "gave-up", Count: 1}})
	}
}

// takeDown ends everything: what still runs is told to stop, the browser and the sound server go, the files are closed.
func (p *performer) takeDown() {
	p.cancel(errOver)
	ctx, cancel := context.WithTimeout(context.Background(), takeDownTime)
	defer cancel()
	p.mu.Lock()
	c := p.call
	for _, s := range p.spoken {
		s.cancel()
	}
	p.mu.Unlock()
	close(p.files)
	if c != nil {
		_ = c.Close()
	}
	_ = p.ports.Opener.Close(ctx)
	waited := make(chan struct{})
	go func() { p.wg.Wait(); close(waited) }()
	select {
	case <-waited:
	case <-ctx.Done(): // a port that ignores its deadline: the process ends soon, and takes it along
	}
	if p.ports.Log != nil {
		_ = p.ports.Log.Close()
	}
}
