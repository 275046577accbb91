package agents

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// FileKind is what a file is by its bytes; its name and declared type say nothing.
type FileKind string

// The kinds that an agent may be handed.
const (
	TextFile  FileKind = "text"
	PDFFile   FileKind = "pdf"
	ImageFile FileKind = "image"
)

// Limits of a file by its kind, in bytes.
var fileLimits = map[FileKind]int{TextFile: 5 << 20, PDFFile: 10 << 20, ImageFile: 5 << 20}

var imageMarks = map[string][]byte{"png": []byte("\x89PNG\r\n\x1a\n"), "jpg": []byte("\xff\xd8\xff"), "gif": []byte("GIF8")}

// Screen looks at a file before any agent does: an archive, a program, anything else that is neither text nor a PDF nor
// a picture, an empty file and one that is too large reach none. The ending is what the bytes earn.
func Screen(b []byte) (kind FileKind, ending string, err error) {
	switch {
	case len(b) == 0:
		return "", "", fmt.Errorf("the file is empty")
	case bytes.HasPrefix(b, []byte("%PDF-")):
		kind, ending = PDFFile, "pdf"
	case bytes.HasPrefix(b, []byte("RIFF")) && len(b) >= 12 && string(b[8:12]) == "WEBP":
		kind, ending = ImageFile, "webp"
	default:
		for e, mark := range imageMarks {
			if bytes.HasPrefix(b, mark) {
				kind, ending = ImageFile, e
			}
		}
	}
	if kind == "" {
		sample := b[:min(len(b), 64<<10)]
		for cut := 0; cut < 4 && cut < len(sample) && len(sample) < len(b) && !utf8.Valid(sample); cut++ {
			sample = sample[:len(sample)-1] // a letter may be cut in two
		}
		if bytes.IndexByte(sample, 0) >= 0 || !utf8.Valid(sample) || bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("\x7fELF")) {
			return "", "", fmt.Errorf("the file is an archive, a program or another kind that is not read: text, PDF and pictures are")
		}
		kind, ending = TextFile, "txt"
	}
	if max := fileLimits[kind]; len(b) > max {
		return "", "", fmt.Errorf("the file has %d bytes; %s files of up to %d are read", len(b), kind, max)
	}
	return kind, ending, nil
}
