package keeper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/meeting/files"
	"parley/meeting/meetingtest"
	"parley/meeting/wire"
)

// TestACrashInTheMiddleOfADeletionIsFinished: the marker stands and files beside it too, as a kill between the two leaves
// them; a service that starts has them gone within two seconds.
func TestACrashInTheMiddleOfADeletionIsFinished(t *testing.T) {
	data := t.TempDir()
	set, err := files.Of(data, "me", "m0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(set.Evidence(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{set.Recording(), set.Part(2), set.Transcript(), set.Journal()} {
		if err := os.WriteFile(path, []byte("what somebody said"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Mark(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	k := open(data, 0)
	defer k.Shutdown(t.Context())
	for {
		left, err := os.ReadDir(set.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 1 && left[0].Name() == filepath.Base(set.Marker()) {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("left: %v", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("gone after %v", time.Since(began).Round(time.Millisecond))
}

// TestTheConsentLedgerTellsAndHoldsNoContent follows one meeting with an announcement and a deletion.
func TestTheConsentLedgerTellsAndHoldsNoContent(t *testing.T) {
	k := keeper(t, 0)
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	if _, err := k.Command(t.Context(), "me", s.ID, wire.Command{StopRecording: &wire.StopRecording{Delete: true}}); err != nil {
		t.Fatal(err)
	}
	ledger, err := k.Consent(t.Context(), "me", s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var whats []string
	for _, e := range ledger {
		whats = append(whats, e.What)
		if e.At.IsZero() {
			t.Errorf("%s has no time", e.What)
		}
		if e.What == "announced" && (e.SentTo != "everyone" || e.How != "chat" || len(e.TextSum) != 64) {
			t.Errorf("%+v", e)
		}
	}
	all := strings.Join(whats, " ")
	for _, must := range []string{"announced", "recording-started", "deleted"} {
		if !strings.Contains(all, must) {
			t.Errorf("the ledger has no %s: %s", must, all)
		}
	}
	raw, err := json.Marshal(ledger)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "notetaker") || strings.Contains(string(raw), "recording audio") {
		t.Errorf("the ledger holds what was said: %s", raw)
	}
	if _, err := k.Consent(t.Context(), "you", s.ID); err == nil {
		t.Error("another tenant reads it")
	}
}
