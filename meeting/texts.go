package meeting

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed texts.json
var textsJSON []byte

// texts holds what we say by ourselves, by language and key.
var texts = func() map[string]map[string]string {
	var t map[string]map[string]string
	if err := json.Unmarshal(textsJSON, &t); err != nil {
		panic(fmt.Sprintf("meeting/texts.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

// Text is what we say under a key ("announce.both", "confirm.deleted"), in each of the languages. A language that is
// not there is left out; when none is, English is said. An empty owner leaves out whose notetaker we are.
func Text(langs []string, key, name, owner string) string {
	var said []string
	for _, lang := range langs {
		t := texts[lang]
		if t == nil || t[key] == "" {
			continue
		}
		whose := ""
		if owner != "" {
			whose = strings.ReplaceAll(t["for"], "{owner}", owner)
		}
		said = append(said, strings.NewReplacer("{name}", name, "{for}", whose).Replace(t[key]))
	}
	if len(said) == 0 {
		if len(langs) == 1 && langs[0] == "en" {
			return ""
		}
		return Text([]string{"en"}, key, name, owner)
	}
	return strings.Join(said, " / ")
}

// TextLanguages are the languages in which we can announce ourselves.
func TextLanguages() []string {
	var ls []string
	for l := range texts {
		ls = append(ls, l)
	}
	return ls
}
