package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// keyUse finds where a page's script asks for words.
var keyUse = regexp.MustCompile(`\bt\('([a-z0-9_]+)'`)

// CheckKind looks whether a kind is whole: every scenario that comes with it can be read and says what it is for, and
// every text that its pages ask for by name exists in English.
func CheckKind(k Kind) error {
	var errs []error
	names, err := Names(k)
	if err != nil {
		return err
	}
	for _, n := range names {
		s, err := Load(k, n)
		switch {
		case err != nil:
			errs = append(errs, err)
		case s.About == "":
			errs = append(errs, fmt.Errorf("scenario %q does not say what it is for", n))
		case s.Expect.Place == "":
			errs = append(errs, fmt.Errorf("scenario %q expects nothing", n))
		}
	}
	w, err := k.Words()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for lang, all := range w {
		for _, part := range []map[string][]string{all.Seen, all.Guess} {
			for key, wordings := range part {
				if len(wordings) == 0 || wordings[0] == "" {
					errs = append(errs, fmt.Errorf("words %s.%s: no wording", lang, key))
				}
				if _, known := w["en"].Seen[key]; !known && w["en"].Guess[key] == nil {
					errs = append(errs, fmt.Errorf("words %s.%s: English has no such key", lang, key))
				}
			}
		}
		for key := range all.Guess {
			if all.Seen[key] != nil {
				errs = append(errs, fmt.Errorf("words %s.%s: both seen and guessed", lang, key))
			}
		}
	}
	err = fs.WalkDir(k.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".js") {
			return err
		}
		raw, err := fs.ReadFile(k.Files, path)
		if err != nil {
			return err
		}
		for _, m := range keyUse.FindAllSubmatch(raw, -1) {
			key := string(m[1])
			if w["en"].Seen[key] == nil && w["en"].Guess[key] == nil {
				errs = append(errs, fmt.Errorf("%s asks for the words %q, which English does not have", path, key))
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
