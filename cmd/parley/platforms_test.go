package main

import (
	"slices"
	"testing"
)

func TestEveryModuleIsInTheProgram(t *testing.T) {
	var names []string
	for _, p := range platformModules() {
		names = append(names, p.Name)
	}
	for _, want := range []string{"room", "livekit", "meet", "zoom"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %v", want, names)
		}
	}
}
