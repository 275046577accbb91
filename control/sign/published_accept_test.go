//go:build accept

package sign

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// whole reads a file of published vectors out of the pinned module that carries them: go.sum holds its checksum.
func whole(t *testing.T, name string, into any) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cloudflare/circl").Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestEverySignatureOfWycheproof: the whole file, refused ones included: wrong lengths, hints, norms, contexts, keys.
func TestEverySignatureOfWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey string
			Tests     []struct {
				TcID                           int
				Comment, Msg, Ctx, Sig, Result string
			}
		}
	}
	whole(t, "sign/schemes/testdata/wycheproof/mldsa_87_verify_test.json.gz", &file)
	n, refused := 0, 0
	for _, g := range file.TestGroups {
		for _, c := range g.Tests {
			got := mldsaScheme{context: unhex(t, c.Ctx)}.Verify(unhex(t, g.PublicKey), unhex(t, c.Msg), unhex(t, c.Sig))
			if got != (c.Result == "valid") {
				t.Errorf("%d (%s): %v, published %s", c.TcID, c.Comment, got, c.Result)
			}
			if n++; c.Result != "valid" {
				refused++
			}
		}
	}
	t.Logf("%d signatures, %d of them to be refused", n, refused)
	if n < 70 || refused < 20 {
		t.Error("that is not the whole file")
	}
}
