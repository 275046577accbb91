package models

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnzippingStaysInItsFolder(t *testing.T) {
	for name, ok := range map[string]bool{"tree/a/b": true, "tree/../x": false, "tree//etc/x": false, "tree/a/../../x": false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "w.whl")
		if err := os.WriteFile(file, wheel("other/ignored", "x", name, "content"), 0o644); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(dir, "into")
		err := unzipTree(context.Background(), file, "tree/", into)
		if (err == nil) != ok || !ok && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(into, "ignored")); err == nil {
			t.Error("what is outside the tree was unpacked")
		}
	}
}

func TestATarKeepsSmallRegularFiles(t *testing.T) {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	add := func(h tar.Header, body string) {
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	add(tar.Header{Name: "a", Typeflag: tar.TypeReg}, "A")
	add(tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "")
	add(tar.Header{Name: "large", Typeflag: tar.TypeReg}, strings.Repeat("x", 1<<20+1))
	add(tar.Header{Name: "b", Typeflag: tar.TypeReg}, "")
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	all, err := readTar(&b)
	if err != nil || len(all) != 2 || string(all["a"]) != "A" || all["b"] == nil {
		t.Errorf("%q, %v", all, err)
	}
}

func TestAMemberLargerThanPinnedIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "w.whl")
	if err := os.WriteFile(file, wheel("m", strings.Repeat("x", 1<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &packages{files: map[string]string{"w": file}}
	defer p.close()
	var b bytes.Buffer
	err := p.copy(&b, content{Bytes: 10, SHA256: sum([]byte("xxxxxxxxxx")), From: []string{"w:m"}})
	if !errors.Is(err, ErrMismatch) || b.Len() > 11 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	for _, from := range []string{"w:absent", "absent:m", "m"} {
		if err := p.copy(io.Discard, content{Bytes: 1, From: []string{from}}); err == nil {
			t.Errorf("%s was found", from)
		}
	}
}

// A package may hold anything: whatever its bytes, opening it ends in an error or in at most the pinned size.
func FuzzWheel(f *testing.F) {
	f.Add(wheel("m", "hello"))
	f.Add(wheel("m", ""))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		file := filepath.Join(dir, "w.whl")
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		p := &packages{files: map[string]string{"w": file}}
		defer p.close()
		var out bytes.Buffer
		err := p.copy(&out, content{Bytes: 5, SHA256: sum([]byte("hello")), From: []string{"w:m"}})
		if out.Len() > 6 || err == nil && out.String() != "hello" {
			t.Errorf("%q, %v", out.String(), err)
		}
		into := filepath.Join(dir, "into")
		_ = unzipTree(context.Background(), file, "", into)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "w.whl" && e.Name() != "into" {
				t.Errorf("%s was written outside", e.Name())
			}
		}
	})
}

func FuzzTar(f *testing.F) {
	f.Add(tgz("package/a.bin", "voice a"))
	f.Add(tgz())
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := readTar(bytes.NewReader(b))
		if err != nil {
			return
		}
		for name, b := range all {
			if len(b) > 1<<20 {
				t.Errorf("%s has %d bytes", name, len(b))
			}
		}
	})
}
