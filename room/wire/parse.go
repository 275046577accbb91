package wire

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// ParseRequest reads what a participant sent and checks it against the bounds. Names and chat texts are
// bounded here in bytes only; CleanName and CleanChat judge them.
func ParseRequest(data []byte) (Request, error) {
	kind, err := kindOf(data)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "join":
		m, err := decode[Join](data)
		if err == nil && (len(m.Key) > MaxID || len(m.Token) > MaxID || m.Seen < 0) {
			err = tooLong(kind)
		}
		return m, err
	case "answer":
		m, err := decode[Answer](data)
		if err == nil && len(m.SDP) > MaxSDP {
			err = tooLong(kind)
		}
		return m, err
	case "restart":
		return decode[Restart](data)
	case "mute":
		return decode[Mute](data)
	case "hand":
		return decode[Hand](data)
	case "say":
		m, err := decode[Say](data)
		if err == nil && len(m.Ref) > MaxID {
			err = tooLong(kind)
		}
		return m, err
	case "admit":
		m, err := decode[Admit](data)
		return m, checkID(kind, m.ID, err)
	case "decline":
		m, err := decode[Decline](data)
		return m, checkID(kind, m.ID, err)
	case "remove":
		m, err := decode[Remove](data)
		return m, checkID(kind, m.ID, err)
	case "end-all":
		return EndAll{}, nil
	case "leave":
		return Leave{}, nil
	case "ping":
		return Ping{}, nil
	}
	return nil, fmt.Errorf("%w: unknown type", ErrMessage)
}

// ParseNotice reads what a room sent. An unknown type gives nil and no error, so that a newer room can say more.
func ParseNotice(data []byte) (Notice, error) {
	kind, err := kindOf(data)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "welcome":
		return decode[Welcome](data)
	case "waiting":
		return decode[Waiting](data)
	case "refused":
		return decode[Refused](data)
	case "offer":
		return decode[Offer](data)
	case "here":
		return decode[Here](data)
	case "gone":
		return decode[Gone](data)
	case "speaking":
		return decode[Speaking](data)
	case "knock":
		return decode[Knock](data)
	case "unknock":
		return decode[Unknock](data)
	case "chat":
		return decode[Chat](data)
	case "problem":
		return decode[Problem](data)
	case "ended":
		return decode[Ended](data)
	case "pong":
		return Pong{}, nil
	}
	return nil, nil
}

func kindOf(data []byte) (string, error) {
	if len(data) > MaxMessage {
		return "", fmt.Errorf("%w: %d bytes, the bound is %d", ErrMessage, len(data), MaxMessage)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%w: not UTF-8", ErrMessage)
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return "", fmt.Errorf("%w: not an object with a type", ErrMessage)
	}
	return head.Type, nil
}

// decode leaves out what encoding/json says about the input: it quotes it, and names and texts stay out of logs.
func decode[T any](data []byte) (T, error) {
	var m T
	if err := json.Unmarshal(data, &m); err != nil {
		var zero T
		return zero, fmt.Errorf("%w: a %T has the wrong shape", ErrMessage, zero)
	}
	return m, nil
}

func checkID(kind, id string, err error) error {
	if err != nil {
		return err
	}
	if id == "" || len(id) > MaxID {
		return tooLong(kind)
	}
	return nil
}

func tooLong(kind string) error {
	return fmt.Errorf("%w: a field of %q is out of bounds", ErrMessage, kind)
}
