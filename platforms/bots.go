package platforms

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

//go:embed bots.json
var botsJSON []byte

// botNames are what other bots call themselves: words anywhere, products as words of their own, marks anywhere.
var botNames = func() (b struct{ Words, Products, Marks []string }) {
	if err := json.Unmarshal(botsJSON, &b); err != nil {
		panic(fmt.Sprintf("platforms/bots.json: %v", err)) // embedded: a test reads it first
	}
	return b
}()

// LikelyAI says whether somebody of this display name is most likely a bot. It is a guess from the name alone.
func LikelyAI(name string) bool {
	n := strings.ToLower(strings.Join(strings.Fields(name), " "))
	for _, list := range [][]string{botNames.Words, botNames.Marks} {
		for _, w := range list {
			if strings.Contains(n, w) {
				return true
			}
		}
	}
	for _, p := range botNames.Products {
		if i := strings.Index(n, p); i >= 0 && edge(n[:i], false) && edge(n[i+len(p):], true) {
			return true
		}
	}
	return false
}

// edge says whether a word could end here.
func edge(s string, first bool) bool {
	if s == "" {
		return true
	}
	r := []rune(s)
	c := r[len(r)-1]
	if first {
		c = r[0]
	}
	return !unicode.IsLetter(c) && !unicode.IsDigit(c)
}
