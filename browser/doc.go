// Package browser keeps browsers for agents: sessions with an owner and a deadline for every call, pages with all their
// frames, snapshots of them as text, and references into them.
//
// One Session is one browser process with its tabs. Every call that touches a page goes through Session.Do (or Act, which
// also tells what came of it): one at a time, cut off before its deadline, with a page that hangs stopped or replaced.
// Inside, a Page gives its Frames, out-of-process ones too, and each Frame evaluates in our isolated world of it.
package browser
