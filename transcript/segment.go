// Package transcript is what was said at a meeting, by whom, and how it is kept and exported.
package transcript

// Seq numbers segments of one meeting, from 1 on, in the order in which they began.
type Seq int64

// Speaker is who said something, as far as it is known.
type Speaker struct {
	// ID is the participant's id on the platform where there is one, else empty.
	ID string `json:"id,omitempty"`
	// Name is the name the page shows, else empty (unknown).
	Name string `json:"name,omitempty"`
	// Confidence is between 0 and 1; 0 with a name is never written.
	Confidence float64 `json:"confidence,omitempty"`
	// Source is what told us: "track" (the participant's own audio), "highlight" (the page's mark), "captions".
	Source string `json:"source,omitempty"`
}

// Word is one word with its time, in seconds since the first recorded sample.
type Word struct {
	Text  string  `json:"text"`
	Start float64 `json:"start_s"`
	End   float64 `json:"end_s"`
}

// Segment is what the recogniser said, as one line of the transcript file.
// A later correction is a new line with the same Seq and a higher Rev.
type Segment struct {
	Seq      Seq       `json:"seq"`
	Rev      int       `json:"rev"`
	Start    float64   `json:"start_s"`
	End      float64   `json:"end_s"`
	Text     string    `json:"text"`
	Lang     string    `json:"lang,omitempty"`
	Speaker  *Speaker  `json:"speaker,omitempty"`
	Speakers []Speaker `json:"speakers,omitempty"`
	Words    []Word    `json:"words,omitempty"`
	// Echo is true when the text is most likely our own voice coming back.
	Echo bool `json:"echo_suspected,omitempty"`
	// Unfinished is true when the recogniser did not come to the end of it: it is the last guess, and words behind it
	// may be missing.
	Unfinished bool `json:"unfinished,omitempty"`
}
