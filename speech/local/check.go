package local

import (
	"fmt"
	"path/filepath"

	"parley/speech/models"
)

// Ears are the recognisers whose files are whole. One of them is enough to hear.
type Ears struct {
	Small, Large bool // whisper tiny.en, whisper base
	// Notes say what works less well because of a damaged file, each with its remedy.
	Notes []string
}

// CheckHearing looks at the files that hearing needs; the error says what is missing or broken of those without which
// nothing is heard. Each recogniser stands in for the other: base writes the partials too, which then come later, and
// tiny.en the finals, in English only. A weak machine has tiny.en alone, since base would be too much for it.
func CheckHearing(modelsDir string, weak bool) (Ears, error) {
	p := models.At(modelsDir)
	if err := check(modelsDir, []string{p.Runtime, p.VAD}); err != nil {
		return Ears{}, err
	}
	small := check(modelsDir, []string{p.Whisper(models.TinyEn)})
	if weak {
		return Ears{Small: small == nil}, small
	}
	large := check(modelsDir, []string{p.Whisper(models.Base)})
	e := Ears{Small: small == nil, Large: large == nil}
	switch {
	case small != nil && large != nil:
		return e, large
	case small != nil:
		e.Notes = append(e.Notes, fmt.Sprintf("partial texts come later than they could, from the large recogniser: %v", small))
	case large != nil:
		e.Notes = append(e.Notes, fmt.Sprintf("English only, and less exact, from the small recogniser: %v", large))
	}
	return e, nil
}

// CheckVoice says what is missing or broken of the files that speaking needs.
func CheckVoice(modelsDir string) error {
	p := models.At(modelsDir)
	return check(modelsDir, []string{p.Runtime, p.Kokoro, p.KokoroVocab})
}

// CheckTurnEnd says what is missing or broken of the files that judging the end of a turn needs.
func CheckTurnEnd(modelsDir string) error {
	return check(modelsDir, []string{models.At(modelsDir).TurnEnd})
}

// check looks at files, and at all files of folders.
func check(root string, need []string) error {
	items := models.Status(root)
	for _, path := range need {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		known := false
		for _, i := range items {
			if i.File != rel && filepath.ToSlash(filepath.Dir(i.File)) != rel {
				continue
			}
			known = true
			if i.State != models.OK && !i.Optional {
				return fmt.Errorf("the model file %s is %s: %s", filepath.Join(root, i.File), i.State, i.Remedy)
			}
		}
		if !known {
			return fmt.Errorf("the list of models does not know %s: run make setup, or parley models fetch", rel)
		}
	}
	return nil
}
