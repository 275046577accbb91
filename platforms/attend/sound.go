package attend

import (
	"context"
	"slices"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/sign"
)

// noSound is the dialog in which we ask what to do about a meeting that cannot be heard.
const noSound = "no-sound"

// Deaf tells that the meeting's sound could not be joined, once for each time, or that it could after all. With ask it is a
// question as well: the page shows that its sound waits for something, and offers what its dialogs offer. A call that
// nobody hears must not look like one that goes well.
func (c *Call) Deaf(deaf, ask bool) {
	was := false
	var offered []string
	c.update(func(s *State) {
		was, s.deaf = s.deaf, deaf
		for _, d := range s.Shown.Dialogs {
			for _, choice := range d.Choices {
				if !sign.Forbidden(choice) && !slices.Contains(offered, choice) {
					offered = append(offered, choice)
				}
			}
		}
	})
	if was == deaf {
		return
	}
	c.Log.Warn("the meeting's sound", "joined", !deaf)
	c.events.Put(meeting.SeenFault{Part: meeting.PartSound, Kind: "audio-not-joined", Mended: !deaf})
	if ask || !deaf {
		c.events.Put(meeting.SeenDialog{
			ID: noSound, Kind: sign.DialogUnknown, Text: "We are in the meeting and hear nothing: the page wants its sound to be joined in a way that we do not know.",
			Choices: offered, Open: deaf,
		})
	}
}

// sounding says whether something on the page plays live sound.
const sounding = `(_, kit) => kit.roots(document).some((root) => [...root.querySelectorAll('audio, video')].some((el) =>
	!el.paused && !el.muted && el.srcObject && el.srcObject.getAudioTracks && el.srcObject.getAudioTracks().some((t) => t.readyState === 'live')))`

// Sounding says whether the page plays sound of others, as far as that can be seen.
func (c *Call) Sounding(ctx context.Context) bool {
	is := false
	return platforms.Read(ctx, c.Page, sounding, nil, &is) == nil && is
}

// IsDeaf says whether the meeting's sound could not be joined.
func (c *Call) IsDeaf() (deaf bool) {
	c.Look(func(s *State) { deaf = s.deaf })
	return deaf
}
