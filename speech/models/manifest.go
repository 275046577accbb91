package models

import (
	_ "embed" // the list of files
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

//go:embed manifest.json
var manifestJSON []byte

// manifest says what an installation consists of. Its hashes, not those of the packages, are what is trusted:
// a package may carry more than we take.
type manifest struct {
	Files   []fileEntry    `json:"files"`
	Whisper []whisperEntry `json:"whisper"`
}

// fileEntry is a file as it lies in a package; with several members it is their concatenation.
type fileEntry struct {
	content
	Path string `json:"path"`
	Part string `json:"part"` // which of the parts it belongs to: kokoro, turn, …
	// Machine restricts it to a processor, as in pins.txt.
	Machine string `json:"machine,omitempty"`
	// Optional names the wish without which it is left out.
	Optional string `json:"optional,omitempty"`
}

// whisperEntry is a recogniser: what goes in, and the files that our writer makes of it.
type whisperEntry struct {
	Name      string      `json:"name"`
	Model     content     `json:"model"`
	Tokenizer content     `json:"tokenizer"`
	Config    content     `json:"config"`
	Files     []madeEntry `json:"files"`
	Sherpa    []madeEntry `json:"sherpa"`
}

// madeEntry is a file that we write ourselves.
type madeEntry struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// content is bytes that packages carry: "package:member" once or in parts.
type content struct {
	Bytes  int64    `json:"bytes"`
	SHA256 string   `json:"sha256"`
	From   []string `json:"from"`
}

func (c content) packages() []string {
	var names []string
	for _, f := range c.From {
		name, _, _ := strings.Cut(f, ":")
		names = append(names, name)
	}
	return names
}

func parseManifest(b []byte) (*manifest, error) {
	m := &manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("models: manifest: %w", err)
	}
	return m, nil
}

// The optional parts.
const (
	optEmbedder = "embedder"
	optSherpa   = "sherpa"
)

// target is one file to be installed.
type target struct {
	path     string // below the root, with slashes
	part     string
	bytes    int64
	sha256   string
	optional string
	packages []string
	// How it comes about: copied from packages, or made from a recogniser's tensors.
	copied *fileEntry
	made   *whisperEntry
	sherpa bool
}

// targets lists the files for a machine, in the order in which they are installed.
func (m *manifest) targets(machine string) []target {
	var all []target
	for i := range m.Files {
		f := &m.Files[i]
		if f.Machine != "" && f.Machine != machine {
			continue
		}
		all = append(all, target{path: f.Path, part: f.Part, bytes: f.Bytes, sha256: f.SHA256, optional: f.Optional,
			packages: f.packages(), copied: f})
	}
	for i := range m.Whisper {
		w := &m.Whisper[i]
		packages := append(append(w.Model.packages(), w.Tokenizer.packages()...), w.Config.packages()...)
		add := func(files []madeEntry, folder string, sherpa bool, optional string) {
			for _, f := range files {
				all = append(all, target{path: path.Join("whisper", folder, f.Name), part: "whisper " + w.Name, bytes: f.Bytes,
					sha256: f.SHA256, optional: optional, packages: packages, made: w, sherpa: sherpa})
			}
		}
		add(w.Files, w.Name, false, "")
		add(w.Sherpa, w.Name+"-sherpa", true, optSherpa)
	}
	return all
}
