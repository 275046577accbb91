package meeting

import "time"

// LedgerEntry is a line of the consent ledger: who was told what, how and when; who objected; what was deleted.
// It holds no content: neither chat text nor speech.
type LedgerEntry struct {
	At time.Time `json:"at"`
	// What is announced, announce-failed, not-announced, present (whom the page showed shortly after), joined-late, recording-started, recording-stopped,
	// objection, deletion-asked, deleted, delete-failed, confirmed.
	What string `json:"what"`
	// How is chat, host, voice, tool, none.
	How string `json:"how,omitempty"`
	// SentTo is everyone, host, none, failed.
	SentTo string `json:"sent_to,omitempty"`
	// Text names the variant that was sent ("announce.transcript", "custom") and TextSum the SHA-256 of what
	// was sent, so that the wording can be proven without being kept here.
	Text    string `json:"text,omitempty"`
	TextSum string `json:"text_sha256,omitempty"`
	// People are those the page showed at that moment (ourselves left out); for an objection, who objected.
	People []LedgerPerson `json:"people,omitempty"`
	Count  int            `json:"count,omitempty"`
	Lang   string         `json:"lang,omitempty"`
	Reason string         `json:"reason,omitempty"`
}

// LedgerPerson is somebody as the page names them.
type LedgerPerson struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}
