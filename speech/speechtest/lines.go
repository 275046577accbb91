package speechtest

// ToneLines are lines in the tone language.
func ToneLines() []Line {
	var out []Line
	for _, text := range []string{
		"alpha bravo charlie delta echo foxtrot golf.",
		"hotel india juliet kilo lima.",
		"mike november oscar papa alpha alpha bravo.",
		"papa oscar november mike lima kilo.",
	} {
		out = append(out, Line{PCM: Tone(text), Text: text})
	}
	return out
}
