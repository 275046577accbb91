package replay

import (
	"fmt"
	"strings"

	"parley/turn"
)

// Summary is an effect in kinds and numbers, without a word that somebody said or is to say.
func Summary(eff turn.Effect) string {
	switch f := eff.(type) {
	case turn.Deliver:
		t := f.Turn
		s := fmt.Sprintf("turn %d", t.Seq)
		if len(t.Merged) > 1 {
			s += fmt.Sprintf(" merged=%v", t.Merged)
		}
		if t.Extends != 0 {
			s += fmt.Sprintf(" extends=%d", t.Extends)
		}
		if t.Echo {
			s += " echo"
		}
		if t.Draft != turn.DraftNone {
			s += " draft=" + string(t.Draft)
		}
		if t.DraftWhy != "" {
			s += " because=" + t.DraftWhy
		}
		return s
	case turn.DeliverPartial:
		return fmt.Sprintf("partial %d", f.Seq)
	case turn.Extended:
		return fmt.Sprintf("extended %d", f.Turn)
	case turn.PublishAnswer:
		return strings.TrimRight(fmt.Sprintf("publish delivered=%v turn=%d last=%d superseded=%v skipped=%v %s", f.Delivered, f.Turn, f.LastTurn, f.Superseded, f.PrefixSkipped, f.Reason), " ")
	case turn.SpeakAnswer:
		return strings.TrimRight(fmt.Sprintf("speak ok=%v u=%d %s", f.OK, f.Utterance, f.Reason), " ")
	case turn.DraftAnswer:
		return strings.TrimRight(fmt.Sprintf("draft ok=%v %s", f.OK, f.Reason), " ")
	case turn.Say:
		return fmt.Sprintf("say %d.%d %s", f.Utterance, f.Piece, f.Kind)
	case turn.Unsay:
		return fmt.Sprintf("unsay %d%v", f.Utterance, f.Pieces)
	case turn.Stop:
		return fmt.Sprintf("stop %d", f.Utterance)
	case turn.Duck:
		return fmt.Sprintf("duck %d", f.Utterance)
	case turn.Restore:
		return fmt.Sprintf("restore %d", f.Utterance)
	case turn.Prepare:
		return "prepare"
	case turn.PlayClip:
		return fmt.Sprintf("clip %d", f.Phrase)
	case turn.SpeechEnded:
		s := fmt.Sprintf("speech %d %s %s", f.Utterance, f.Kind, f.State)
		if f.BargeIn {
			s += " barge-in"
		}
		return s
	case turn.MarkEcho:
		return fmt.Sprintf("echo %d", f.Seq)
	}
	return fmt.Sprintf("%T", eff)
}
