package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"

	"parley/speech/models/internal/convert"
)

var update = flag.Bool("update", false, "write manifest.json anew from the packages in PARLEY_WHEELS")

// PARLEY_WHEELS names a folder with the packages of both processors, as pip and npm bring them. With it, this test
// computes every hash of the manifest from the packages; with -update it writes them down.
func TestManifestSaysWhatThePackagesHold(t *testing.T) {
	cache := os.Getenv("PARLEY_WHEELS")
	if cache == "" {
		t.Skip("PARLEY_WHEELS names no folder with the packages")
	}
	m, err := parseManifest(manifestJSON)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*packages{}
	for _, machine := range []string{"x86_64", "aarch64"} {
		pins, err := parsePins(pinsPip, pinsNpm, machine)
		if err != nil {
			t.Fatal(err)
		}
		p := &packages{files: map[string]string{}}
		for name, pin := range pins {
			file, err := findPackage(context.Background(), cache, pin)
			if err != nil {
				t.Fatal(err)
			}
			if file == "" {
				t.Logf("%s for %s is not in %s", name, machine, cache)
			}
			p.files[name] = file
		}
		all[machine] = p
		defer p.close()
	}
	var tensors []byte
	fill := func(c *content, machine string) []byte {
		if machine == "" {
			machine = "x86_64"
		}
		var b bytes.Buffer
		for _, from := range c.From {
			r, err := all[machine].open(from)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&b, r); err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		c.Bytes, c.SHA256 = int64(b.Len()), sum(b.Bytes())
		return b.Bytes()
	}
	for i := range m.Files {
		fill(&m.Files[i].content, m.Files[i].Machine)
	}
	for i := range m.Whisper {
		w := &m.Whisper[i]
		tensors = fill(&w.Model, "")
		src := convert.Source{Name: w.Name, Model: tensors, Tokenizer: fill(&w.Tokenizer, ""), Config: fill(&w.Config, "")}
		for form, made := range map[convert.Form][]madeEntry{convert.Own: w.Files, convert.Sherpa: w.Sherpa} {
			files, err := convert.Files(src, form)
			if err != nil {
				t.Fatal(err)
			}
			for j := range made {
				for _, f := range files {
					if f.Name != made[j].Name {
						continue
					}
					var b bytes.Buffer
					if err := f.Write(&b); err != nil {
						t.Fatal(err)
					}
					made[j].Bytes, made[j].SHA256 = int64(b.Len()), sum(b.Bytes())
				}
			}
		}
	}
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if bytes.Equal(b, manifestJSON) {
		return
	}
	if !*update {
		t.Fatal("manifest.json differs from what the packages hold; if that is meant, run this test with -update")
	}
	if err := os.WriteFile("manifest.json", b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
