package room

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pion/opus"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
	"parley/room/wire"
)

// peer is one media connection of one seat: it takes in the seat's sound and sends it everybody else's.
//
// One goroutine, run's, works the connection. Others leave what they want of it in the mailbox, where the newest
// wish replaces older ones, so that it needs no queue.
type peer struct {
	seat  string
	media int
	pc    *webrtc.PeerConnection
	api   *webrtc.API
	own   *source
	// tell sends a notice to the seat's connection; report posts to the hall.
	tell   func(wire.Notice)
	report func(hallEvent)

	mu     sync.Mutex
	wants  map[string]*source
	asked  int // the number of the open offer, 0 when none is open
	answer *wire.Answer
	wake   chan struct{}

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // readers of tracks and of reports

	// Owned by run.
	mic     *webrtc.RTPTransceiver
	hears   map[string]*webrtc.RTPTransceiver
	idle    []*webrtc.RTPTransceiver
	offered int
	open    bool // an offer waits for its answer, since offeredAt
	dirty   bool // what was negotiated is not what is wanted

	offeredAt time.Time
}

func newPeer(m *media, seat string, number int, own *source) (*peer, error) {
	pc, err := m.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	mic, err := pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
	if err != nil {
		return nil, errors.Join(err, pc.Close())
	}
	p := &peer{
		seat: seat, media: number, pc: pc, api: m.api, own: own, mic: mic, dirty: true,
		wake: make(chan struct{}, 1), hears: map[string]*webrtc.RTPTransceiver{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ctx.Err() == nil {
			p.work.Go(func() { p.listen(t) })
		}
	})
	pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateFailed {
			p.report(mediaFailed{seat, number})
		}
	})
	return p, nil
}

// want says whom the seat hears.
func (p *peer) want(sources map[string]*source) {
	p.mu.Lock()
	p.wants = sources
	p.mu.Unlock()
	p.nudge()
}

// take hands over an answer; one that is not to the open offer is none.
func (p *peer) take(a wire.Answer) {
	p.mu.Lock()
	if a.Media == p.media && a.N == p.asked {
		p.answer = &a
	}
	p.mu.Unlock()
	p.nudge()
}

func (p *peer) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run works the connection until close is called, and returns when nothing of it is left.
func (p *peer) run() {
	defer p.shut()
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-late.C:
			p.offeredAt = time.Now() // it is said again if nothing comes of it
			p.report(mediaFailed{p.seat, p.media})
		}
		p.mu.Lock()
		wants, answer := p.wants, p.answer
		p.answer = nil
		if answer != nil {
			p.asked = 0
		}
		p.mu.Unlock()
		if answer != nil {
			p.accept(*answer)
		}
		if err := p.settle(wants); err != nil {
			p.report(mediaFailed{p.seat, p.media})
		}
		if p.open {
			late.Reset(time.Until(p.offeredAt.Add(answerWithin)))
		} else {
			late.Reset(time.Hour)
		}
	}
}

// close makes run return. It does not wait.
func (p *peer) close() {
	p.mu.Lock()
	p.cancel() // under the lock, so that no reader starts after shut began to wait
	p.mu.Unlock()
}

func (p *peer) shut() {
	p.cancel()
	_ = p.pc.GracefulClose() // there is nobody to tell: the connection is given up either way
	p.work.Wait()
}

// accept takes the answer to the open offer.
func (p *peer) accept(a wire.Answer) {
	if !p.open {
		return
	}
	p.open = false
	// The library takes an answer without any section, and then nothing ever happens.
	if sections(a.SDP) != sections(p.pc.LocalDescription().SDP) {
		p.report(mediaFailed{p.seat, p.media})
		return
	}
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: a.SDP}); err != nil {
		p.report(mediaFailed{p.seat, p.media})
	}
}

func sections(sdp string) int { return strings.Count(sdp, "\nm=") }

// settle makes the connection carry what is wanted, by a new offer where that is needed and none is open.
func (p *peer) settle(wants map[string]*source) error {
	if p.open {
		return nil // the answer wakes us again
	}
	for seat, tr := range p.hears {
		if s := wants[seat]; s == nil || s.track != tr.Sender().Track() {
			if err := p.pc.RemoveTrack(tr.Sender()); err != nil {
				return err
			}
			delete(p.hears, seat)
			p.idle = append(p.idle, tr)
			p.dirty = true
		}
	}
	for seat, s := range wants {
		if seat != p.seat && p.hears[seat] == nil {
			tr, err := p.hear(s)
			if err != nil {
				return err
			}
			p.hears[seat] = tr
			p.dirty = true
		}
	}
	if !p.dirty {
		return nil
	}
	return p.offer()
}

// hear adds a source, in a section of the session that somebody who left has freed if there is one.
func (p *peer) hear(s *source) (*webrtc.RTPTransceiver, error) {
	var tr *webrtc.RTPTransceiver
	if n := len(p.idle); n > 0 {
		sender, err := p.api.NewRTPSender(s.track, p.mic.Receiver().Transport())
		if err != nil {
			return nil, err
		}
		tr = p.idle[n-1]
		if err := tr.SetSender(sender, s.track); err != nil {
			return nil, errors.Join(err, sender.Stop())
		}
		p.idle = p.idle[:n-1]
	} else {
		var err error
		tr, err = p.pc.AddTransceiverFromTrack(s.track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return nil, err
		}
	}
	sender := tr.Sender()
	p.work.Go(func() {
		// Reading is what makes the interceptors see requests for lost packets.
		buf := make([]byte, 1500)
		for {
			if _, _, err := sender.Read(buf); err != nil {
				return
			}
		}
	})
	return tr, nil
}

func (p *peer) offer() error {
	p.dirty = false
	offer, err := p.pc.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(offer); err != nil {
		return err
	}
	select { // at once: there are only the addresses of the listening ports
	case <-gathered:
	case <-p.ctx.Done():
		return nil
	}
	p.offered++
	p.open, p.offeredAt = true, time.Now()
	p.mu.Lock()
	p.asked = p.offered
	p.mu.Unlock()
	p.tell(wire.Offer{Media: p.media, N: p.offered, SDP: p.pc.LocalDescription().SDP})
	return nil
}

// listen forwards what the seat's microphone sends until the connection ends.
func (p *peer) listen(t *webrtc.TrackRemote) {
	var loud loudness
	var meter meter
	var told time.Time
	ext := rtc.LevelID(p.mic.Receiver().GetParameters())
	for {
		packet, _, err := t.ReadRTP()
		if err != nil {
			return // the connection's end
		}
		if len(packet.Payload) == 0 {
			continue // padding
		}
		level, ok := rtc.Level(packet, ext)
		if !ok {
			level = meter.level(packet.Payload)
		}
		now := time.Now()
		if !p.own.forward(now, packet) {
			continue
		}
		if loud.step(level) && now.Sub(told) >= speakingHold/3 {
			told = now
			p.report(loudPacket{p.seat})
		}
	}
}

// meter measures the packets of a participant who does not say how loud they are.
type meter struct {
	decoder *opus.Decoder
	pcm     []int16
}

func (m *meter) level(payload []byte) (level uint8) {
	defer func() { // the payload is a stranger's, the decoder is young
		if recover() != nil {
			m.decoder, level = nil, 127
		}
	}()
	if m.decoder == nil {
		d, err := opus.NewDecoderWithOutput(16000, 1)
		if err != nil {
			return 127
		}
		m.decoder, m.pcm = &d, make([]int16, 16000*120/1000)
	}
	n, err := m.decoder.DecodeToInt16(payload, m.pcm)
	if err != nil && !errors.Is(err, io.EOF) {
		return 127
	}
	return wire.Level(m.pcm[:n])
}
