package transcript

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the expected files anew")

var meta = Meta{MeetingID: "m1a2b3c4d5e6", Title: "Weekly | <b>sync</b>", Platform: "room",
	Started: time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)}

func sample() []Segment {
	ada := &Speaker{ID: "p1", Name: "Ada", Confidence: 0.9, Source: SourceTrack}
	evil := &Speaker{Name: "**Bob**\n\n<script>alert(1)</script> --> \u202eevil", Confidence: 0.5, Source: SourceHighlight}
	return []Segment{
		{Seq: 1, Start: 0.4, End: 2.1, Text: "Good morning, everybody.", Lang: "en", Speaker: ada},
		{Seq: 2, Start: 2.3, End: 14, Text: "Let us begin with the numbers of last week, then the plan for the beta, and whoever has to leave early tells us now so that we take their points first.", Lang: "en", Speaker: ada},
		{Seq: 3, Start: 14.2, End: 16, Text: "# heading\n\n1\n00:00:01,000 --> 00:00:02,000\n{\\an8}[link](https://x.example) <i>& so on", Speaker: evil},
		{Seq: 4, Start: 16.5, End: 17, Text: "  \t "},
		{Seq: 5, Start: 17, End: 19, Text: "Ich weiß nicht, wer das war. 会议记录", Lang: "de"},
		{Seq: 6, Rev: 1, Start: 3599.9996, End: 3601, Text: "1. One hour later", Speaker: &Speaker{ID: "p3", Confidence: 0.4, Source: SourceTrack}, Echo: true},
	}
}

func TestExport(t *testing.T) {
	for _, f := range Formats {
		var b bytes.Buffer
		if err := Export(&b, f, meta, sample()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "export."+string(f))
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s differs (go test -update writes it anew):\n%s", path, b.String())
		}
	}
	if err := Export(&bytes.Buffer{}, "docx", meta, nil); err == nil {
		t.Error("an unknown format is taken")
	}
}

func TestNothingSaidYet(t *testing.T) {
	for _, f := range Formats {
		var b bytes.Buffer
		if err := Export(&b, f, Meta{}, nil); err != nil {
			t.Error(err)
		}
		if f == JSON && !strings.Contains(b.String(), `"segments": []`) {
			t.Errorf("json: %s", b.String())
		}
	}
}

var (
	srtBlock = regexp.MustCompile(`^\d+\n\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}\n[^\n]+(\n[^\n]+)?$`)
	vttBlock = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} --> \d\d:\d\d:\d\d\.\d{3}\n(<v [^<>\n]+>)?[^<>\n]+(\n[^<>\n]+)?$`)
)

// mdMarkup is what a text could become in Markdown: a tag, a link, a heading, a list item.
var mdMarkup = regexp.MustCompile(`[^\\]<|[^\\]\]\(|\n#|\n- `)

// FuzzExport: whatever is said and whatever people are called, files stay well-formed.
func FuzzExport(f *testing.F) {
	f.Add("Ada", "Hello --> there\n\n2\n<v x>", 1.0, 2.0)
	f.Add("\x00\u2028>", "& < > \\ {", -1.0, 1e300)
	f.Fuzz(func(t *testing.T, name, text string, start, end float64) {
		segs := []Segment{{Seq: 1, Start: start, End: end, Text: text, Speaker: &Speaker{Name: name, Confidence: 1}},
			{Seq: 2, Start: end, End: start, Text: name}}
		export := func(f Format) string {
			var b bytes.Buffer
			if err := Export(&b, f, Meta{Title: name}, segs); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		for _, block := range strings.Split(strings.TrimSuffix(export(SRT), "\n\n"), "\n\n") {
			if block != "" && !srtBlock.MatchString(block) {
				t.Fatalf("not SubRip: %q", block)
			}
		}
		_, body, _ := strings.Cut(export(WebVTT), "\n\n")
		for _, block := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
			if block != "" && !vttBlock.MatchString(block) {
				t.Fatalf("not WebVTT: %q", block)
			}
		}
		if !math.IsNaN(start) && !math.IsInf(start, 0) && !math.IsNaN(end) && !math.IsInf(end, 0) {
			if !json.Valid([]byte(export(JSON))) {
				t.Fatal("not JSON")
			}
		}
		md := export(Markdown)
		if bad := mdMarkup.FindString(strings.TrimPrefix(md, "#")); bad != "" {
			t.Fatalf("%q in %q", bad, md)
		}
		export(Text)
	})
}
