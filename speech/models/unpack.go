package models

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"parley/speech/models/internal/convert"
)

// packages opens members of packages that lie in the cache.
type packages struct {
	files map[string]string // package → its file
	zips  map[string]*zip.ReadCloser
	tars  map[string]map[string][]byte
}

func (p *packages) close() {
	for _, z := range p.zips {
		_ = z.Close() // only read from
	}
}

// open gives the bytes of "package:member".
func (p *packages) open(from string) (io.ReadCloser, error) {
	name, member, ok := strings.Cut(from, ":")
	file := p.files[name]
	if !ok || file == "" {
		return nil, fmt.Errorf("no package for %q", from)
	}
	if strings.HasSuffix(file, ".tgz") {
		return p.openTar(file, member)
	}
	z := p.zips[file]
	if z == nil {
		var err error
		if z, err = zip.OpenReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if p.zips == nil {
			p.zips = map[string]*zip.ReadCloser{}
		}
		p.zips[file] = z
	}
	for _, f := range z.File {
		if f.Name == member {
			return f.Open()
		}
	}
	return nil, fmt.Errorf("%s has no %s", filepath.Base(file), member)
}

// openTar reads an archive once and keeps its small files: a compressed tar has no index, and many of them are asked for.
func (p *packages) openTar(file, member string) (io.ReadCloser, error) {
	all, ok := p.tars[file]
	if !ok {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if all, err = readTar(f); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if p.tars == nil {
			p.tars = map[string]map[string][]byte{}
		}
		p.tars[file] = all
	}
	b, ok := all[member]
	if !ok {
		return nil, fmt.Errorf("%s has no %s", filepath.Base(file), member)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// readTar gives the regular files of an archive up to 1 MB each and 64 MB together.
func readTar(r io.Reader) (map[string][]byte, error) {
	const one, together = 1 << 20, 64 << 20
	gz, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	all, sum := map[string][]byte{}, 0
	for t := tar.NewReader(gz); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || h.Size > one {
			continue
		}
		if sum += int(h.Size); sum > together {
			return nil, fmt.Errorf("%w: the archive is too large", ErrMismatch)
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		all[h.Name] = b
	}
}

// copy writes a content's parts one after the other, and fails when they are not what is pinned. More bytes than
// pinned are never written.
func (p *packages) copy(w io.Writer, c content) error {
	h := sha256.New()
	left := c.Bytes
	for _, from := range c.From {
		r, err := p.open(from)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, left+1))
		if err := errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if left -= n; left < 0 {
			break
		}
	}
	if left != 0 {
		return fmt.Errorf("%w: %s has another size than %d bytes", ErrMismatch, strings.Join(c.From, " + "), c.Bytes)
	}
	return sumIs(h, c.SHA256, strings.Join(c.From, " + "))
}

func sumIs(h hash.Hash, want, what string) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: %s has sha256 %s, not %s", ErrMismatch, what, got, want)
	}
	return nil
}

// unpack installs a file that lies in packages.
func (r *run) unpack(ctx context.Context, p *packages, t target) error {
	r.tell(Unpacking, t.path)
	err := writeFile(ctx, filepath.Join(r.o.Dir, filepath.FromSlash(t.path)), func(w io.Writer) error {
		return p.copy(r.counting(w, Unpacking, t.path), t.copied.content)
	})
	if err != nil {
		return fmt.Errorf("models: %s: %w", t.path, explainWrite(err))
	}
	return nil
}

// convert makes files of one recogniser: those of the targets with these numbers.
func (r *run) convert(ctx context.Context, p *packages, todo []int) error {
	w := r.targets[todo[0]].made
	r.tell(Converting, w.Name)
	src := convert.Source{Name: w.Name}
	for _, in := range []struct {
		c    content
		into *[]byte
	}{{w.Model, &src.Model}, {w.Tokenizer, &src.Tokenizer}, {w.Config, &src.Config}} {
		var b bytes.Buffer
		b.Grow(int(in.c.Bytes))
		if err := p.copy(writing{ctx, &b}, in.c); err != nil {
			return fmt.Errorf("models: whisper %s: %w", w.Name, err)
		}
		*in.into = b.Bytes()
	}
	made := map[convert.Form]map[string]convert.Output{}
	for _, i := range todo {
		t := r.targets[i]
		form := convert.Own
		if t.sherpa {
			form = convert.Sherpa
		}
		if made[form] == nil {
			files, err := convert.Files(src, form)
			if err != nil {
				return fmt.Errorf("models: whisper %s: %w", w.Name, err)
			}
			made[form] = map[string]convert.Output{}
			for _, f := range files {
				made[form][f.Name] = f
			}
		}
		f, ok := made[form][path.Base(t.path)]
		if !ok {
			return fmt.Errorf("models: nothing makes %s", t.path)
		}
		err := writeFile(ctx, filepath.Join(r.o.Dir, filepath.FromSlash(t.path)), func(w io.Writer) error {
			h := sha256.New()
			if err := f.Write(io.MultiWriter(r.counting(w, Converting, t.path), h)); err != nil {
				return err
			}
			return sumIs(h, t.sha256, "the written file")
		})
		if err != nil {
			return fmt.Errorf("models: %s: %w", t.path, explainWrite(err))
		}
	}
	return nil
}

// counting tells the progress of what is written.
func (r *run) counting(w io.Writer, phase Phase, name string) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		n, err := w.Write(b)
		r.add(phase, name, int64(n))
		return n, err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
