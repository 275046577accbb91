package shot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"parley/control/inspect"
	"parley/guard/spawn"
)

// ErrUnread says that nobody here can read what is on a picture, or did not read all of it: then it stays.
var ErrUnread = errors.New("what is on the picture could not be read, so it stays")

// ErrShows says that something on the picture must not leave.
var ErrShows = errors.New("the picture shows what must not leave")

// Reader reads the text on a picture. Whole tells that it looked at all of it.
type Reader interface {
	Read(ctx context.Context, png []byte) (text string, whole bool, err error)
}

// Inspect reads a picture and says whether it may leave. No setting permits what it finds: a classification of a picture
// is worth less than one of a text.
func Inspect(ctx context.Context, r Reader, p *Picture) error {
	if r == nil {
		return ErrUnread
	}
	text, whole, err := r.Read(ctx, p.PNG())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnread, err)
	}
	if !whole {
		return ErrUnread
	}
	// Words stand beside each other on lines; read both ways, so that a label and its value on two lines meet.
	if inspect.Refuses(inspect.Text(text), false) || inspect.Refuses(inspect.Text(strings.Join(strings.Fields(text), " ")), false) {
		return ErrShows
	}
	return nil
}

// Tesseract reads with the program of that name, where it is installed.
type Tesseract struct {
	// Path of the program.
	Path string
	// Languages it reads ("eng+deu"); empty: eng.
	Languages string
}

// FindTesseract looks for the program; nil when there is none.
func FindTesseract(languages string) Reader {
	path, err := exec.LookPath("tesseract")
	if err != nil {
		return nil
	}
	return &Tesseract{Path: path, Languages: languages}
}

const maxText = 1 << 20

// Read implements Reader. The picture goes by standard input: nothing of it is ever a file.
func (t *Tesseract) Read(ctx context.Context, png []byte) (string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	lang := t.Languages
	if lang == "" {
		lang = "eng"
	}
	c := exec.CommandContext(ctx, t.Path, "stdin", "stdout", "-l", lang, "--psm", "11", "tsv")
	c.Env = []string{"PATH=/usr/bin:/bin", "OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8"}
	c.Stdin = bytes.NewReader(png)
	c.WaitDelay = time.Second
	out := &limited{most: maxText}
	c.Stdout = out
	if err := spawn.RunCmd(spawn.Tesseract, c, spawn.Options{}); err != nil {
		return "", false, fmt.Errorf("tesseract: %w", err)
	}
	if out.over {
		return "", false, nil
	}
	return parseTSV(out.String())
}

// parseTSV takes the words out of what tesseract writes. The page's own row must be there, or it did not look at all of it.
func parseTSV(tsv string) (string, bool, error) {
	var b strings.Builder
	page := false
	line := ""
	for i, row := range strings.Split(strings.TrimRight(tsv, "\n"), "\n") {
		f := strings.Split(row, "\t")
		if len(f) != 12 {
			return "", false, errors.New("tesseract wrote something else than a table")
		}
		if i == 0 {
			continue
		}
		if f[0] == "1" {
			w, err := strconv.Atoi(f[8])
			page = err == nil && w > 0
		}
		if f[0] != "5" || strings.TrimSpace(f[11]) == "" {
			continue
		}
		if at := strings.Join(f[1:5], "."); at != line {
			if line != "" {
				b.WriteByte('\n')
			}
			line = at
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(f[11])
	}
	return b.String(), page, nil
}

type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		l.over = true
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
