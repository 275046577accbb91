package voices

import (
	"testing"

	"parley/testkit/need"
)

func TestTheRecordingsAreThere(t *testing.T) {
	need.Program(t, "ffmpeg")
	prompts, err := Prompts()
	if err != nil {
		t.Fatal(err)
	}
	if len(prompts) < 150 {
		t.Errorf("only %d prompts", len(prompts))
	}
	novel, err := Novel()
	if err != nil {
		t.Fatal(err)
	}
	if len(novel) != 5 {
		t.Errorf("%d sentences of the novel, want 5", len(novel))
	}
	for _, r := range []Recording{prompts[0], novel[0]} {
		pcm, err := Decode(t.Context(), r.Path, 16000)
		if err != nil {
			t.Fatal(err)
		}
		if s := float64(len(pcm)) / 16000; s < 0.5 || s > 20 {
			t.Errorf("%s lasts %.1f s", r.ID, s)
		}
	}
}

func TestParsePromptsLeavesFragmentsOut(t *testing.T) {
	got, err := parsePrompts([]byte("; comment\n\ngood: This is a sentence.\nbad: ...to do something else\nshort: Two words\nkeys: press 1 to go on now\nno line\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got["good"] != "This is a sentence." {
		t.Errorf("got %v", got)
	}
}

func TestParseNovel(t *testing.T) {
	got := parseNovel("<s> had he married a more a amiable woman </s> (x-1)\n<s> evil </s> (../../etc)\n\njunk\n")
	if len(got) != 1 || got[0].ID != "x-1" || got[0].Text != "had he married a more amiable woman" {
		t.Errorf("got %+v", got)
	}
}
