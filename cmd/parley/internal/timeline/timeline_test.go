package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func sample() *Timeline {
	t := New(500*time.Millisecond, "Ada", "the bot")
	zero := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	t.Hear("Ada", at(-3), -80) // silence before the beginning
	for s := 0.0; s < 2; s += 0.1 {
		t.Hear("Ada", at(s), -15)
	}
	for s := 3.0; s < 5; s += 0.1 {
		t.Hear("the bot", at(s), map[bool]float64{true: -15, false: -38}[s < 4])
	}
	t.Mark(Mark{At: at(4), Sign: "i", Text: "interrupted <by> Ada"})
	return t
}

func TestWhoSpokeWhen(t *testing.T) {
	var b strings.Builder
	if err := sample().Text(&b, 60); err != nil {
		t.Fatal(err)
	}
	want := `          0:00
    Ada ▏ ████
the bot ▏       ██▂▂
                  i

          i  interrupted <by> Ada
`
	var got []string
	for _, l := range strings.Split(b.String(), "\n") {
		got = append(got, strings.TrimRight(l, " "))
	}
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got:\n%s\nwant:\n%s", g, want)
	}
}

func TestALongOneIsWrapped(t *testing.T) {
	tl := New(time.Second, "Ada")
	zero := time.Now()
	for i := range 100 {
		tl.Hear("Ada", zero.Add(time.Duration(i)*time.Second), -20)
	}
	var b strings.Builder
	if err := tl.Text(&b, 60); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "Ada ▏"); n != 2 {
		t.Errorf("%d stretches:\n%s", n, b.String())
	}
}

func TestThePictureIsXML(t *testing.T) {
	var b strings.Builder
	if err := sample().SVG(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(b.String(), "&lt;by&gt;") {
		t.Error("a text is not escaped")
	}
}
