package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"parley/store"
)

// kept is how an outcome is written under an idempotency key. An empty one was erased with its meeting.
type kept struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *keptError      `json:"error,omitempty"`
}

type keptError struct {
	Code   Code   `json:"code"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
	Quoted string `json:"quoted,omitempty"`
}

// lease is longer than any call may take.
const lease = MaxDeadline + 30*time.Second

// claim looks under the call's idempotency key, if it has one. A nil key means that there is none to settle.
func (s *Service) claim(ctx context.Context, c Call, args any) (*store.Key, store.Claim, *Error) {
	keyed, ok := args.(interface{ idempotencyKey() string })
	if !ok || keyed.idempotencyKey() == "" {
		return nil, store.Claim{}, nil
	}
	if s.o.Idempotency == nil {
		return nil, store.Claim{}, Fail(CodeStore)
	}
	canonical, err := json.Marshal(args) // the decoded arguments: defaults in, order and spelling out
	if err != nil {
		return nil, store.Claim{}, Fail(CodeInternal).Because(err)
	}
	sum := sha256.Sum256(canonical)
	key := store.Key{Tenant: c.Caller.Tenant.ID, Tool: c.Tool, Key: keyed.idempotencyKey()}
	now := s.o.Now()
	claim, err := s.o.Idempotency.Claim(ctx, key, hex.EncodeToString(sum[:16]), s.o.Owner, now, lease)
	switch {
	case err != nil:
		s.o.Log.Error("an idempotency key could not be claimed", "tool", c.Tool, "err", err)
		return nil, claim, Fail(CodeStore).Because(err)
	case !claim.Same:
		return nil, claim, Fail(CodeIdempotencyConflict)
	case claim.Mine, claim.Done:
		return &key, claim, nil
	case now.Before(claim.Lease):
		return nil, claim, Fail(CodeStillRunning).After(time.Second)
	}
	return nil, claim, Fail(CodeOutcomeUnknown)
}

// settle keeps an outcome under its key, however late. Where the call certainly had no effect the key is free again.
func (s *Service) settle(key *store.Key, t *Tool, meeting string, o outcome) {
	if key == nil {
		return
	}
	if o.err != nil && !catalogue[o.err.Code].Effect {
		s.release(key)
		return
	}
	k := kept{Result: o.result}
	if o.err != nil {
		k.Error = &keptError{Code: o.err.Code, Text: o.err.Text, Remedy: o.err.Remedy, Quoted: o.err.Quoted}
	} else if meeting == "" {
		var named struct {
			Meeting string `json:"meeting_id"`
		}
		if json.Unmarshal(o.result, &named) == nil {
			meeting = named.Meeting
		}
	}
	raw, err := json.Marshal(k)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = s.o.Idempotency.Finish(ctx, *key, s.o.Owner, meeting, raw)
	}
	if err != nil {
		s.o.Log.Error("a result could not be kept under its idempotency key", "tool", t.Name, "err", err)
	}
}

func (s *Service) release(key *store.Key) {
	if key == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.o.Idempotency.Release(ctx, *key, s.o.Owner); err != nil {
		s.o.Log.Error("an idempotency key could not be released", "tool", key.Tool, "err", err)
	}
}

func (s *Service) replay(t *Tool, c Caller, raw []byte) Answer {
	var k kept
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &k); err != nil {
			return s.failed(c, Fail(CodeStore).Because(err))
		}
	}
	var a Answer
	switch {
	case k.Error != nil:
		a = s.failed(c, &Error{Code: k.Error.Code, Text: k.Error.Text, Remedy: k.Error.Remedy, Quoted: k.Error.Quoted})
	case k.Result != nil:
		a = s.done(t, c, k.Result)
	default:
		a = s.failed(c, Fail(CodeOutcomeErased))
	}
	a.Replayed = true
	return a
}
