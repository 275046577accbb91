package transcript

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

var (
	ada = Person{ID: "p1", Name: "Ada"}
	bob = Person{ID: "p2", Name: "Bob"}
	eve = Person{Name: "Eve"} // a page that shows no ids
	us  = Person{ID: "p9", Name: "Parley"}
)

// shown is a page that shows somebody from one look to another, looked at every 300 ms.
func shown(a *Attributor, from, to time.Duration, who ...Person) {
	for at := from; at < to; at += 300 * ms {
		a.Shown(at, who)
	}
	a.Shown(to, nil)
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name  string
		signs func(*Attributor)
		from  float64
		to    float64
		want  string // name/source, then all names when several
		sure  [2]float64
	}{
		{"nothing was seen", func(*Attributor) {}, 1, 3, "nobody", [2]float64{}},
		{"one is shown", func(a *Attributor) { shown(a, 1300*ms, 3300*ms, ada) }, 1, 3, "Ada/highlight", [2]float64{0.7, 0.8}},
		{"the longer one wins, both are listed", func(a *Attributor) {
			shown(a, 1000*ms, 1600*ms, bob)
			shown(a, 1600*ms, 3000*ms, ada)
		}, 1, 3, "Ada/highlight [Ada Bob]", [2]float64{0.3, 0.6}},
		{"0.3 s before counts", func(a *Attributor) { shown(a, 500*ms, 900*ms, ada) }, 1, 3, "Ada/highlight", [2]float64{0.3, 0.6}},
		{"more than that does not", func(a *Attributor) { shown(a, 300*ms, 690*ms, ada) }, 1, 3, "nobody", [2]float64{}},
		{"after the end does not", func(a *Attributor) { shown(a, 3100*ms, 4000*ms, ada) }, 1, 3, "nobody", [2]float64{}},
		{"a page nobody looks at any more is believed for a second", func(a *Attributor) { a.Shown(0, []Person{ada}) }, 1.5, 3, "nobody", [2]float64{}},
		{"and not less", func(a *Attributor) { a.Shown(600*ms, []Person{ada}) }, 1, 3, "Ada/highlight", [2]float64{0.3, 0.8}},
		{"our own tile never counts", func(a *Attributor) { shown(a, 1000*ms, 3000*ms, us) }, 1, 3, "nobody", [2]float64{}},
		{"ours beside another", func(a *Attributor) { shown(a, 1000*ms, 3000*ms, us, bob) }, 1, 3, "Bob/highlight", [2]float64{0.7, 0.8}},
		{"a name without an id", func(a *Attributor) { shown(a, 1000*ms, 3000*ms, eve) }, 1, 3, "Eve/highlight", [2]float64{0.7, 0.8}},
		{"a track beats the mark", func(a *Attributor) {
			a.Voice(ada, 1000*ms, 3000*ms, 5)
			shown(a, 1000*ms, 3000*ms, bob)
		}, 1, 3, "Ada/track", [2]float64{0.8, 0.85}},
		{"a mark that agrees makes it surer", func(a *Attributor) {
			a.Voice(ada, 1000*ms, 3000*ms, 5)
			shown(a, 1000*ms, 3000*ms, ada)
		}, 1, 3, "Ada/track", [2]float64{0.99, 0.99}},
		{"a cough on one track does not beat the mark", func(a *Attributor) {
			a.Voice(bob, 2000*ms, 2300*ms, 5)
			shown(a, 1000*ms, 3000*ms, ada)
		}, 1, 3, "Ada/highlight", [2]float64{0.7, 0.8}},
		{"two microphones in one room: the louder", func(a *Attributor) {
			a.Voice(bob, 1000*ms, 3000*ms, 1)
			a.Voice(ada, 1000*ms, 3000*ms, 9)
		}, 1, 3, "Ada/track", [2]float64{0.8, 0.95}},
		{"two people at once", func(a *Attributor) {
			a.Voice(bob, 1000*ms, 2600*ms, 4)
			a.Voice(ada, 1400*ms, 3000*ms, 5)
		}, 1, 3, "Ada/track [Ada Bob]", [2]float64{0.4, 0.6}},
		{"captions where there is nothing else", func(a *Attributor) { a.Captioned(eve, 900*ms, 3000*ms) }, 1, 3, "Eve/captions", [2]float64{0.85, 0.9}},
		{"a track without a name is still somebody", func(a *Attributor) { a.Voice(Person{ID: "p7"}, 1000*ms, 3000*ms, 1) }, 1, 3, "p7/track", [2]float64{0.95, 0.98}},
		{"the roster's name for it", func(a *Attributor) {
			a.Voice(Person{ID: "p7"}, 1000*ms, 3000*ms, 1)
			a.Know(Person{ID: "p7", Name: "Grace"})
		}, 1, 3, "Grace/track", [2]float64{0.95, 0.98}},
		{"a new name for an id: one person", func(a *Attributor) {
			shown(a, 1000*ms, 1600*ms, Person{ID: "p7", Name: "Guest"})
			shown(a, 1600*ms, 3000*ms, Person{ID: "p7", Name: "Grace"})
		}, 1, 3, "Grace/highlight", [2]float64{0.7, 0.8}},
		{"a segment without length", func(a *Attributor) { shown(a, 1000*ms, 3000*ms, ada) }, 2, 2, "Ada/highlight", [2]float64{0.7, 0.8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := NewAttributor(AttributorOptions{})
			a.Self(us)
			c.signs(a)
			s := a.Judge(Segment{Seq: 1, Start: c.from, End: c.to})
			got, sure := describe(s), 0.0
			if s.Speaker != nil {
				sure = s.Speaker.Confidence
			}
			if got != c.want || sure < c.sure[0] || sure > c.sure[1] {
				t.Errorf("got %s, confidence %.2f; want %s, %v", got, sure, c.want, c.sure)
			}
		})
	}
}

func describe(s Segment) string {
	if s.Speaker == nil {
		return "nobody"
	}
	name := func(s Speaker) string {
		if s.Name == "" {
			return s.ID
		}
		return s.Name
	}
	out := name(*s.Speaker) + "/" + s.Speaker.Source
	if len(s.Speakers) > 0 {
		var all []string
		for _, p := range s.Speakers {
			all = append(all, name(p))
		}
		out += fmt.Sprint(" ", all)
	}
	return out
}

func TestReview(t *testing.T) {
	t.Run("a name learned later is filled in", func(t *testing.T) {
		a := NewAttributor(AttributorOptions{})
		a.Voice(Person{ID: "p1"}, 0, 2*time.Second, 1)
		a.Judge(Segment{Seq: 1, Start: 0, End: 2})
		a.Know(ada)
		got := a.Review(10 * time.Second)
		if len(got) != 1 || got[0].Speaker.Name != "Ada" {
			t.Fatalf("got %+v", got)
		}
		if again := a.Review(10 * time.Second); len(again) != 0 {
			t.Errorf("told twice: %+v", again)
		}
	})
	t.Run("a mark that comes late names nobody's segment", func(t *testing.T) {
		a := NewAttributor(AttributorOptions{})
		a.Judge(Segment{Seq: 1, Start: 1, End: 2})
		shown(a, 1200*ms, 2400*ms, ada)
		if got := a.Review(3 * time.Second); len(got) != 1 || describe(got[0]) != "Ada/highlight" {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a track that comes late corrects the mark", func(t *testing.T) {
		a := NewAttributor(AttributorOptions{})
		shown(a, 1000*ms, 2000*ms, bob)
		a.Judge(Segment{Seq: 1, Start: 1, End: 2})
		a.Voice(ada, 1000*ms, 2000*ms, 1)
		if got := a.Review(3 * time.Second); len(got) != 1 || describe(got[0]) != "Ada/track" {
			t.Fatalf("got %+v", got)
		}
		shown(a, 1000*ms, 2000*ms, bob, bob)
		if got := a.Review(3 * time.Second); len(got) != 0 {
			t.Errorf("and back again: %+v", got)
		}
	})
	t.Run("a new name does not rewrite what was said before", func(t *testing.T) {
		a := NewAttributor(AttributorOptions{})
		shown(a, 0, 1000*ms, Person{ID: "p1", Name: "Guest"})
		a.Judge(Segment{Seq: 1, Start: 0, End: 1})
		a.Know(ada)
		a.Voice(ada, 0, 1000*ms, 1) // a better sign, and the same person
		if got := a.Review(5 * time.Second); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("old segments are let go", func(t *testing.T) {
		a := NewAttributor(AttributorOptions{})
		a.Judge(Segment{Seq: 1, Start: 0, End: 1})
		a.Review(10 * time.Minute)
		if len(a.judged) != 0 {
			t.Error("a segment is kept past Keep")
		}
	})
}

func TestAttributorIsBounded(t *testing.T) {
	a := NewAttributor(AttributorOptions{Keep: 100 * time.Hour})
	long := strings.Repeat("é", 300)
	for i := range 12000 {
		p := Person{ID: fmt.Sprint(i), Name: long}
		a.Voice(p, time.Duration(i)*ms, time.Duration(i+1)*ms, 1)
		a.Shown(time.Duration(i)*ms, []Person{p})
		a.Judge(Segment{Seq: Seq(i + 1), Start: float64(i) / 1000, End: float64(i) / 1000})
	}
	if n := len(a.signs[SourceTrack]); n > maxSigns {
		t.Errorf("%d signs", n)
	}
	if len(a.people) > maxPeople || len(a.judged) > maxReviewed || a.Forgotten == 0 {
		t.Errorf("%d people, %d judged, %d forgotten", len(a.people), len(a.judged), a.Forgotten)
	}
	if n := len(a.signs[SourceTrack][0].who[0].Name); n > maxName {
		t.Errorf("a name of %d bytes", n)
	}
}

// meeting simulates a meeting whose truth is known and returns the share of segments given to who said them.
func meeting(seed uint64, o AttributorOptions, taps, marks bool) (right, unknown, total float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	a := NewAttributor(o)
	a.Self(us)
	people := make([]Person, 2+r.IntN(4))
	for i := range people {
		people[i] = Person{ID: fmt.Sprint("p", i), Name: fmt.Sprint("Person ", i)}
	}
	type spoken struct {
		who      int
		from, to time.Duration
	}
	var said []spoken
	at := time.Second
	for range 200 {
		length := time.Duration(400+r.IntN(6000)) * ms
		s := spoken{r.IntN(len(people)), at, at + length}
		said = append(said, s)
		// Mostly a short gap, sometimes the next one begins before this one ended.
		at = s.to + time.Duration(r.IntN(900)-200)*ms
		at = max(at, s.from+200*ms)
	}
	// The page lights a ring 150–400 ms after the voice, keeps it as long, misses it now and then, and is
	// looked at every 300 ms.
	var rings []spoken
	for _, s := range said {
		if r.IntN(100) < 5 {
			continue
		}
		rings = append(rings, spoken{s.who, s.from + time.Duration(150+r.IntN(250))*ms, s.to + time.Duration(150+r.IntN(350))*ms})
	}
	look := time.Duration(0)
	lookUntil := func(until time.Duration) {
		for ; look <= until; look += 300 * ms {
			var who []Person
			for _, ring := range rings {
				if ring.from <= look && look < ring.to {
					who = append(who, people[ring.who])
				}
			}
			if marks {
				a.Shown(look, who)
			}
		}
	}
	for i, s := range said {
		if taps {
			jitter := func() time.Duration { return time.Duration(r.IntN(160)-80) * ms }
			a.Voice(people[s.who], s.from+jitter(), s.to+jitter(), 1+r.Float64()*3)
			if r.IntN(10) == 0 { // somebody beside them is heard through their own microphone
				a.Voice(people[(s.who+1)%len(people)], s.from, s.to, 0.2)
			}
		}
		lookUntil(s.to + 400*ms) // the final comes a little after the voice
		got := a.Judge(Segment{Seq: Seq(i + 1), Start: s.from.Seconds(), End: s.to.Seconds()})
		total++
		switch {
		case got.Speaker == nil:
			unknown++
		case got.Speaker.ID == people[s.who].ID:
			right++
		}
	}
	return right, unknown, total
}

func TestAttributionAccuracy(t *testing.T) {
	for _, c := range []struct {
		name        string
		o           AttributorOptions
		taps, marks bool
		least       float64
	}{
		{"page marks only, as the reference", AttributorOptions{}, false, true, 0.88},
		{"page marks only, lag taken off", AttributorOptions{Lag: 250 * ms}, false, true, 0.90},
		{"tracks only", AttributorOptions{}, true, false, 0.985},
		{"tracks and marks", AttributorOptions{}, true, true, 0.985},
	} {
		var right, unknown, total float64
		for seed := range uint64(20) {
			r, u, n := meeting(seed, c.o, c.taps, c.marks)
			right, unknown, total = right+r, unknown+u, total+n
		}
		t.Logf("%-34s right %.1f %%, unknown %.1f %%, wrong %.1f %% of %.0f", c.name,
			100*right/total, 100*unknown/total, 100*(total-right-unknown)/total, total)
		if right/total < c.least {
			t.Errorf("%s: %.3f right, want at least %.3f", c.name, right/total, c.least)
		}
	}
}

func FuzzAttributor(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, in []byte) {
		a := NewAttributor(AttributorOptions{})
		a.Self(us)
		people := []Person{ada, bob, eve, us, {}, {ID: "p1"}}
		for i := 0; i+3 < len(in); i += 4 {
			p := people[int(in[i+1])%len(people)]
			from, to := time.Duration(in[i+2])*100*ms, time.Duration(in[i+3])*100*ms
			switch in[i] % 6 {
			case 0:
				a.Voice(p, from, to, float64(in[i+3]))
			case 1:
				a.Shown(from, []Person{p, people[int(in[i+3])%len(people)]})
			case 2:
				a.Captioned(p, from, to)
			case 3:
				a.Know(p)
			case 4:
				s := a.Judge(Segment{Seq: Seq(in[i+1]), Start: from.Seconds(), End: to.Seconds()})
				check(t, s)
			case 5:
				for _, s := range a.Review(to) {
					check(t, s)
				}
			}
		}
	})
}

func check(t *testing.T, s Segment) {
	if s.Speaker == nil {
		if s.Speakers != nil {
			t.Fatalf("nobody, and yet %v", s.Speakers)
		}
		return
	}
	if s.Speaker.ID == us.ID || s.Speaker.ID == "" && s.Speaker.Name == "" {
		t.Fatalf("the speaker is %+v", *s.Speaker)
	}
	for _, sp := range append([]Speaker{*s.Speaker}, s.Speakers...) {
		if !(sp.Confidence > 0 && sp.Confidence <= 1) {
			t.Fatalf("confidence %v", sp.Confidence)
		}
	}
}
