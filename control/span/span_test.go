package span

import (
	"context"
	"testing"
	"time"
)

func TestSpansAreOffUntilSwitchedOn(t *testing.T) {
	var got []Span
	r := new(Recorder)
	r.To(func(s Span) { got = append(got, s) })
	run := func() {
		tr := r.Begin()
		ctx := With(context.Background(), tr)
		Start(ctx, Decrypt)(false)
		Start(ctx, "what a page said")(false)
		tr.Did(Audit, time.Millisecond, true)
		tr.End(false)
		tr.End(true)
	}
	run()
	if len(got) != 0 {
		t.Fatalf("switched off: %v", got)
	}
	r.Switch(true)
	run()
	if len(got) != 3 || got[0].Name != Decrypt || got[0].Parent != Request || !got[1].Failed || got[2].Name != Request || got[2].Parent != "" {
		t.Fatalf("%+v", got)
	}
	for _, s := range got {
		if s.Trace != got[0].Trace || len(s.Trace) != 32 {
			t.Errorf("%+v is of another trace", s)
		}
	}
	r.Switch(false)
	run()
	if len(got) != 3 {
		t.Error("switched off again, and it records")
	}
	Start(context.Background(), Decrypt)(false) // without a trace: nothing, and no panic
}
