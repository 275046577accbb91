package figures

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestQuantile(t *testing.T) {
	s := []float64{1, 2, 3, 4, 5}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 1: 5, 0.25: 2, 0.1: 1.4} {
		if got := Quantile(s, q); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("Quantile(%g) = %g, want %g", q, got, want)
		}
	}
}

func TestTargetsHoldOnTheirBoundary(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want bool
	}{
		{AtMost("x", "ms", 2, 2), true}, {AtMost("x", "ms", 2, 2.01), false},
		{AtLeast("x", "%", 2, 2), true}, {AtLeast("x", "%", 2, 1.99), false},
	} {
		if c.row.Holds == nil || *c.row.Holds != c.want {
			t.Errorf("%+v: want %t", c.row, c.want)
		}
	}
	if r := AtMost("x", "ms", 2); r.Holds != nil || r.Ours != nil {
		t.Error("a row without samples holds nothing")
	}
}

func TestAbsentMembersAreNull(t *testing.T) {
	var b bytes.Buffer
	s := Suite{Suite: "seat", Machine: Here(), Rows: []Row{NotMeasured("x", "ms", "no browser"), AtMost("y", "ms", 1, 0.5).Against(1)}}
	if err := s.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Rows []map[string]any `json:"rows"`
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if v, ok := back.Rows[0]["ours"]; !ok || v != nil {
		t.Errorf("ours: %v %t", v, ok)
	}
	if back.Rows[1]["ratio"] != 0.5 {
		t.Errorf("ratio %v", back.Rows[1]["ratio"])
	}
	b.Reset()
	if err := s.Text(&b); err != nil || !strings.Contains(b.String(), "not measured") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
