package local

import (
	"fmt"
	"path/filepath"

	"parley/speech/models"
)

// CheckHearing says what is missing or broken of the files that hearing needs. Weak machines need fewer.
func CheckHearing(modelsDir string, weak bool) error {
	p := models.At(modelsDir)
	need := []string{p.Runtime, p.VAD, p.Whisper(models.TinyEn)}
	if !weak {
		need = append(need, p.Whisper(models.Base))
	}
	return check(modelsDir, need)
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
