package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// layers go from the ground up: a package may import its own layer only where peers says so, and any lower one.
// The longest matching prefix decides.
var layers = []struct {
	prefix string
	layer  int
}{
	{"internal", 0},
	{"audio", 1}, {"transcript", 1}, {"tenant", 1}, {"guard/policy", 1}, {"guard/fence", 1}, {"guard/seal", 1}, {"meeting/wire", 1},
	{"turn", 2}, {"upload", 2}, {"speech", 2}, {"channel", 2}, {"browser", 2}, {"store", 2}, {"guard", 2},
	{"meeting", 3},
	{"audio/pulse", 4}, {"audio/ogg", 4}, {"audio/vad", 4}, {"speech/models", 4}, {"speech/local", 4}, {"speech/server", 4}, {"speech/speechtest", 5}, {"channel/mcpl", 4},
	{"browser/cdp", 4}, {"browser/browsertest", 5}, {"live", 4}, {"room", 4}, {"platforms", 4}, {"meeting/keeper", 4}, {"meeting/worker", 4},
	{"platforms/room", 5}, {"platforms/platformtest", 5}, {"platforms/meet", 5}, {"platforms/zoom", 5}, {"platforms/teams", 5}, {"platforms/jitsi", 5}, {"platforms/livekit", 5},
	{"testkit", 5},
	{"tool", 6}, {"fleet", 6}, {"guard/choke", 6},
	{"mcp", 7}, {"control", 7}, {"dashboard", 7},
	{"cmd", 8},
	// An example is somebody else's program: it has nothing of ours but what the examples share.
	{"examples", 0}, {"examples/internal", 8},
}

// forbidden names imports that no layer number catches, with the reason.
var forbidden = []struct{ from, to, why string }{
	{"meeting", "mcp", "a meeting does not know who asked for it"},
	{"meeting", "platforms", "a meeting works a Call, not a platform"},
	{"turn", "os", "turn is pure"},
	{"turn", "net", "turn is pure"},
	{"turn", "sync", "turn is pure"},
	{"guard/policy", "os", "Decide is pure"},
	{"guard/policy", "net", "Decide is pure"},
	{"guard/fence", "os", "the fence is pure"},
	{"guard/seal", "os", "the seal is pure"},
}

func layerOf(pkg string) int {
	best, layer := -1, -1
	for _, l := range layers {
		if (pkg == l.prefix || strings.HasPrefix(pkg, l.prefix+"/")) && len(l.prefix) > best {
			best, layer = len(l.prefix), l.layer
		}
	}
	return layer
}

func TestImportsPointDown(t *testing.T) {
	root := "../.."
	walk(t, root, func(pkg, file string, imports []string) {
		from := layerOf(pkg)
		if from < 0 {
			t.Errorf("%s: package %s has no layer; give it one in internal/arch", file, pkg)
			return
		}
		isTest := strings.HasSuffix(file, "_test.go")
		for _, imp := range imports {
			for _, f := range forbidden {
				if pkg == f.from && !isTest && (imp == f.to || imp == "parley/"+f.to || strings.HasPrefix(imp, "parley/"+f.to+"/")) {
					t.Errorf("%s imports %s: %s", file, imp, f.why)
				}
			}
			to, ours := strings.CutPrefix(imp, "parley/")
			if !ours || isTest {
				continue
			}
			// A parent and its own folders belong together; everything else points down.
			if layerOf(to) > from && !strings.HasPrefix(to, pkg+"/") {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports point down", file, from, imp, layerOf(to))
			}
		}
	})
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	has := map[string]bool{}
	root := "../.."
	walk(t, root, func(pkg, file string, _ []string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		has[pkg] = has[pkg] || f.Doc != nil
	})
	for pkg, ok := range has {
		if !ok {
			t.Errorf("%s: no sentence above the package clause", pkg)
		}
	}
}

func walk(t *testing.T, root string, visit func(pkg, file string, imports []string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "node_modules") {
				return filepath.SkipDir
			}
			if p != root {
				if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
					return filepath.SkipDir // another module
				}
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			s, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, s)
		}
		files++
		visit(path.Dir(rel), rel, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 5 {
		t.Fatalf("only %d files were read: the walk is broken", files)
	}
}
