package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Ada", "Ada"},
		{"  Ada \t Lovelace\n", "Ada Lovelace"},
		{"<b>Ada</b>", "<b>Ada</b>"}, // text stays text; the page never makes markup of it
		{"e\u0301a", "éa"},
		{"\u202eadA", "adA"},
		{"A\u200bd\u2060a\ufeff", "Ada"},
		{"A\x00d\x1ba\x7f", "Ada"},
		{"Иван", "Иван"},
		{"محمد", "محمد"},
		{"می\u200cخواهم", "می\u200cخواهم"}, // the joiner belongs to the word
		{"👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"},
		{"\u200dAda", "Ada"},
		{"Z\u0335\u0336\u0337\u0338\u0339\u033a", "Z\u0335\u0336\u0337"},
		{"\xff\xfeAda", "\ufffdAda"},
		{strings.Repeat("x", MaxName), strings.Repeat("x", MaxName)},
	} {
		got, err := CleanName(c.in)
		if err != nil || got != c.want {
			t.Errorf("CleanName(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{
		"", " ", "\n\t", "\u200b\u200b", "\u202e", "\u3164", "\u2800", "\u0301", "\ue000",
		strings.Repeat("x", MaxName+1), strings.Repeat("x", 10_000), strings.Repeat("\u0301", 10_000),
	} {
		if got, err := CleanName(bad); !errors.Is(err, ErrText) {
			t.Errorf("CleanName(%.20q) = %q, %v; want it refused", bad, got, err)
		}
	}
}

func TestCleanChat(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\nb", "a\nb"},
		{"a\r\nb", "a\nb"},
		{"\n\na\n\n\n\nb\n\n", "a\n\nb"},
		{"a \n b", "a\nb"},
		{"a\tb", "a b"},
		{"\u202eevil\u202c", "evil"},
		{"\x1b[31mred", "[31mred"},
		{"<script>alert(1)</script>", "<script>alert(1)</script>"},
		{strings.Repeat("ж", MaxChat), strings.Repeat("ж", MaxChat)},
	} {
		got, err := CleanChat(c.in)
		if err != nil || got != c.want {
			t.Errorf("CleanChat(%.30q) = %.30q, %v; want %.30q", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "\n", strings.Repeat("x", MaxChat+1), strings.Repeat("x", 1<<20)} {
		if _, err := CleanChat(bad); !errors.Is(err, ErrText) {
			t.Errorf("CleanChat(%.20q): %v; want it refused", bad, err)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("Ada Lovelace")
	f.Add("\u202e\u0301\u200dx\r\n\n \u3164")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []struct {
			f     func(string) (string, error)
			limit int
			lines bool
		}{{CleanName, MaxName, false}, {CleanChat, MaxChat, true}} {
			got, err := c.f(text)
			if err != nil {
				continue
			}
			if n := utf8.RuneCountInString(got); n < 1 || n > c.limit {
				t.Fatalf("%d characters", n)
			}
			for _, r := range got {
				if unicode.IsControl(r) && !(c.lines && r == '\n') || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%q is left in", r)
				}
			}
			if again, err := c.f(got); err != nil || again != got {
				t.Fatalf("cleaning %q again gives %q, %v", got, again, err)
			}
		}
	})
}

var requests = []Request{
	Join{Name: "Ada", Muted: true, Key: "k", Token: "t", Seen: 3}, Join{}, Answer{Media: 1, N: 2, SDP: "v=0"}, Restart{Media: 3},
	Mute{Muted: true}, Hand{Up: true}, Say{Text: "a\n\"b\"", Ref: "1"}, Admit{ID: "p1"}, Decline{ID: "p1"}, Remove{ID: "p1"},
	EndAll{}, Leave{}, Ping{},
}

var notices = []Notice{
	Welcome{Room: "r", Self: "p1", Token: "t", People: []Person{{ID: "p1", Name: "Ada", Host: true}}, Chat: []Chat{{Seq: 1}}, Hold: 15000},
	Waiting{Room: "r", Token: "t"}, Refused{Reason: ReasonFull}, Offer{Media: 1, N: 1, SDP: "v=0"}, Here{Person: Person{ID: "p"}},
	Gone{ID: "p", Reason: ReasonLost}, Speaking{ID: "p", On: true}, Knock{Waiter: Waiter{ID: "p", Name: "n"}}, Unknock{ID: "p"},
	Chat{Seq: 1, From: "p", Name: "n", Text: "t", At: 5}, Problem{Code: ReasonNotHost, Ref: "r"}, Ended{Reason: ReasonEnded}, Pong{},
}

func TestEveryMessageGoesOverTheWire(t *testing.T) {
	for _, want := range requests {
		data, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseRequest(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", data, got, err)
		}
	}
	for _, want := range notices {
		data, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseNotice(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", data, got, err)
		}
	}
	if got, err := ParseNotice([]byte(`{"type":"of-a-newer-room"}`)); got != nil || err != nil {
		t.Errorf("a newer room's message: %v, %v", got, err)
	}
}

func TestBadRequests(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for _, bad := range []string{
		``, `null`, `[]`, `1`, `"join"`, `{`, `{}`, `{"type":1}`, `{"type":"welcome"}`, `{"type":"join","name":5}`, `{"type":"mute","muted":"yes"}`,
		`{"type":"admit"}`, `{"type":"admit","id":""}`, `{"type":"remove","id":"` + long + `"}`, `{"type":"join","token":"` + long + `"}`,
		`{"type":"join","key":"` + long + `"}`, `{"type":"join","seen":-1}`, `{"type":"say","ref":"` + long + `"}`,
		`{"type":"answer","sdp":"` + strings.Repeat("x", MaxSDP+1) + `"}`, `{"type":"say","text":"` + strings.Repeat("x", MaxMessage) + `"}`,
		"{\"type\":\"say\",\"text\":\"\xff\"}", `{"type":"leave"}x`,
	} {
		if r, err := ParseRequest([]byte(bad)); !errors.Is(err, ErrMessage) {
			t.Errorf("%.60s: %#v, %v", bad, r, err)
		}
	}
}

func TestErrorsDoNotQuote(t *testing.T) {
	_, err := ParseRequest([]byte(`{"type":"hand","up":"a private word"}`))
	if err == nil || strings.Contains(err.Error(), "private") {
		t.Errorf("%v", err)
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, r := range requests {
		data, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRequest(data)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatal(err)
			}
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(again) {
			t.Fatalf("encoded as %q", again)
		}
		if len(again) > MaxMessage {
			return // escaping made it longer
		}
		if back, err := ParseRequest(again); err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%#v came back as %#v, %v", r, back, err)
		}
	})
}

func FuzzParseNotice(f *testing.F) {
	for _, n := range notices {
		data, err := Encode(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := ParseNotice(data); err != nil && !errors.Is(err, ErrMessage) {
			t.Fatalf("%#v, %v", n, err)
		}
	})
}

func TestLevel(t *testing.T) {
	square := func(v int16) []int16 { return []int16{v, -v, v, -v} }
	for _, c := range []struct {
		pcm  []int16
		want uint8
	}{{nil, 127}, {square(0), 127}, {square(1), 90}, {square(328), 40}, {square(32767), 0}} {
		if got := Level(c.pcm); got != c.want {
			t.Errorf("Level(%v) = %d, want %d", c.pcm, got, c.want)
		}
	}
}
