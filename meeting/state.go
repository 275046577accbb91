package meeting

// State is where an attendance stands. It only goes forward, except that a breakout move may bring it back to waiting.
type State string

// The states, in their order.
const (
	Requested  State = "requested"  // accepted, nothing runs yet
	Starting   State = "starting"   // sound, display, browser, page come up
	Lobby      State = "lobby"      // on the page, devices off, before asking to join
	Waiting    State = "waiting"    // asked, not in
	Admitted   State = "admitted"   // in, for as long as the hold asks; devices are read again
	Announcing State = "announcing" // telling who we are; nothing is recorded yet
	Attending  State = "attending"  // the meeting proper
	Leaving    State = "leaving"    // on the way out
	Ended      State = "ended"      // final
)

// States lists all states in their order.
var States = []State{Requested, Starting, Lobby, Waiting, Admitted, Announcing, Attending, Leaving, Ended}

// In says whether we are in the call.
func (s State) In() bool { return s == Admitted || s == Announcing || s == Attending }

// Over says whether the way leads out only.
func (s State) Over() bool { return s == Leaving || s == Ended }
