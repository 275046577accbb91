package platforms

import "testing"

func TestLikelyAI(t *testing.T) {
	for name, want := range map[string]bool{
		"Parley (AI notetaker)": true, "Ada's Notetaker": true, "OtterPilot": true, "Fireflies.ai Notetaker Ada": true, "read.ai meeting notes": true,
		"Fathom": true, "Ada (bot)": true, "KI-Assistent": true, "Sales Bot": true, "tl;dv": true,
		"Ada Lovelace": false, "Abbott": false, "Bo Tang": false, "Gongshow": false, "Ai Weiwei": false, "Grainger": false, "": false, "Kai": false, "Jamieson": false,
	} {
		if LikelyAI(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
