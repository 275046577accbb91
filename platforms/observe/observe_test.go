package observe

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/platforms/sign"
)

func TestReportsThatTellNothing(t *testing.T) {
	for raw, want := range map[string]sign.Health{
		`{"seq":1,"hits":[],"blank":true}`:               sign.Blank,
		`{"seq":1,"hits":[],"failed":"TypeError"}`:       sign.Failed,
		`{"seq":1,"hits":[{"sign":"x"}],"data":{"a":1}}`: sign.Fine,
	} {
		r, err := Decode(json.RawMessage(raw))
		if err != nil || r.Look().Health != want {
			t.Errorf("%s: %q %v", raw, r.Look().Health, err)
		}
	}
	if _, err := Decode(json.RawMessage(`{"data":"` + strings.Repeat("x", maxReport) + `"}`)); err == nil {
		t.Error("a report of any length is taken")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"seq":1,"hits":[{"sign":"a","text":"b","lang":"en"}],"data":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := Decode(raw); err == nil {
			_ = r.Look()
		}
	})
}
