package timeline

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
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

func TestThePictureFitsASmallScreen(t *testing.T) {
	tl := New(250*time.Millisecond, "Ada", "Emmy", "the bot")
	zero := time.Now()
	for i := range 100 {
		tl.Hear("Ada", zero.Add(time.Duration(i)*time.Second), -20)
	}
	tl.Mark(Mark{At: zero.Add(20 * time.Second), Sign: "t", Text: "a turn"})
	tl.Mark(Mark{At: zero.Add(20 * time.Second), Sign: "r", Text: "it goes on"})
	var b strings.Builder
	if err := tl.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var wide, high int
	_, box, _ := strings.Cut(b.String(), "viewBox=")
	if _, err := fmt.Sscanf(box, `"0 0 %d %d"`, &wide, &high); err != nil {
		t.Fatal(err)
	}
	if wide > 600 || !strings.Contains(b.String(), `width="100%"`) {
		t.Errorf("%d units wide", wide)
	}
	var far []int
	for _, m := range regexp.MustCompile(` x="(\d+)"`).FindAllStringSubmatch(b.String(), -1) {
		if n, err := strconv.Atoi(m[1]); err != nil || n > wide {
			far = append(far, n)
		}
	}
	if len(far) > 0 {
		t.Errorf("drawn beside the picture: %v", far)
	}
	if n := strings.Count(b.String(), ">Ada<"); n != 7 {
		t.Errorf("%d lines for 100 s", n)
	}
	at := regexp.MustCompile(`<circle cx="(\d+)" cy="\d+" r="8" fill="#bb3333"/><text[^>]*>[tr]<`).FindAllStringSubmatch(b.String(), -1)
	if len(at) != 4 || at[0][1] == at[1][1] {
		t.Errorf("the signs of one moment lie on each other: %v", at)
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
