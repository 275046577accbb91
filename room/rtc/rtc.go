// Package rtc has what both ends of a room's media connection agree on: the codec, the header extension, and what
// mends lost packets.
package rtc

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/logging"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// ClockRate is the rate of RTP timestamps for Opus in Hz, whatever the rate of the sound.
const ClockRate = 48000

// LevelURI names the RTP extension that carries the level of each packet.
const LevelURI = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"

// Opus is the only codec of a room: with in-band error correction, repeated on request, quiet when its speaker is.
var Opus = webrtc.RTPCodecCapability{
	MimeType: webrtc.MimeTypeOpus, ClockRate: ClockRate, Channels: 2,
	SDPFmtpLine:  "minptime=10;useinbandfec=1;usedtx=1",
	RTCPFeedback: []webrtc.RTCPFeedback{{Type: webrtc.TypeRTCPFBNACK}},
}

// NewAPI makes connections with these settings.
func NewAPI(settings webrtc.SettingEngine) (*webrtc.API, error) {
	var codecs webrtc.MediaEngine
	var chain interceptor.Registry
	err := codecs.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: Opus, PayloadType: 111}, webrtc.RTPCodecTypeAudio)
	if err == nil {
		err = codecs.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: LevelURI}, webrtc.RTPCodecTypeAudio)
	}
	if err == nil {
		err = repairs(&chain, settings.LoggerFactory)
	}
	if err != nil {
		return nil, fmt.Errorf("media connections: %w", err)
	}
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(&codecs), webrtc.WithInterceptorRegistry(&chain)), nil
}

// repairs adds what notices and mends lost packets: requests for them in both directions, and reports.
func repairs(chain *interceptor.Registry, logs logging.LoggerFactory) error {
	ask, err := nack.NewGeneratorInterceptor(nack.GeneratorSize(256), nack.GeneratorInterval(40*time.Millisecond),
		nack.GeneratorMaxNacksPerPacket(4), nack.WithGeneratorLoggerFactory(logs))
	if err != nil {
		return err
	}
	give, err := nack.NewResponderInterceptor(nack.ResponderSize(256), nack.WithResponderLoggerFactory(logs))
	if err != nil {
		return err
	}
	receive, err := report.NewReceiverInterceptor(report.WithReceiverLoggerFactory(logs))
	if err != nil {
		return err
	}
	send, err := report.NewSenderInterceptor(report.WithSenderLoggerFactory(logs))
	if err != nil {
		return err
	}
	for _, f := range []interceptor.Factory{ask, give, receive, send} {
		chain.Add(f)
	}
	return nil
}

// LevelID is the number that parameters give the level extension; zero when they have none.
func LevelID(p webrtc.RTPParameters) uint8 {
	for _, e := range p.HeaderExtensions {
		if e.URI == LevelURI {
			return uint8(e.ID)
		}
	}
	return 0
}

// Level reads the level of a packet in dB below full scale, when the packet says it.
func Level(p *rtp.Packet, id uint8) (level uint8, ok bool) {
	if id == 0 {
		return 0, false
	}
	var l rtp.AudioLevelExtension
	if raw := p.GetExtension(id); raw == nil || l.Unmarshal(raw) != nil {
		return 0, false
	}
	return l.Level, true
}

// Logs passes on that the media library met an error, and nothing else: its messages name addresses and credentials of
// participants.
type Logs struct{ Log *slog.Logger }

// NewLogger implements logging.LoggerFactory.
func (l Logs) NewLogger(scope string) logging.LeveledLogger { return log{l.Log, scope} }

type log struct {
	log   *slog.Logger
	scope string
}

func (log) Trace(string)            {}
func (log) Tracef(string, ...any)   {}
func (log) Debug(string)            {}
func (log) Debugf(string, ...any)   {}
func (log) Info(string)             {}
func (log) Infof(string, ...any)    {}
func (log) Warn(string)             {}
func (log) Warnf(string, ...any)    {}
func (l log) Error(string)          { l.Errorf("") }
func (l log) Errorf(string, ...any) { l.log.Debug("media library error", "scope", l.scope) }
