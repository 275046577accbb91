package keys

import "testing"

func TestChords(t *testing.T) {
	for _, c := range []struct {
		chord string
		mods  int
		key   Key
	}{
		{"Enter", 0, Key{"Enter", "Enter", 13, "\r"}},
		{"enter", 0, Key{"Enter", "Enter", 13, "\r"}},
		{"Down", 0, Key{"ArrowDown", "ArrowDown", 40, ""}},
		{"a", 0, Key{"a", "KeyA", 65, "a"}},
		{"A", 0, Key{"A", "KeyA", 65, "A"}},
		{"Shift+a", Shift, Key{"A", "KeyA", 65, "A"}},
		{"Control+A", Control, Key{"a", "KeyA", 65, ""}},
		{"Ctrl + Shift + Tab", Control | Shift, Key{"Tab", "Tab", 9, ""}},
		{"Alt+Plus", Alt, Key{"+", "Equal", 187, ""}},
		{"!", 0, Key{"!", "Digit1", 49, "!"}},
		{"é", 0, Key{"é", "", 0, "é"}},
		{"F5", 0, Key{"F5", "F5", 116, ""}},
	} {
		mods, k, err := Parse(c.chord)
		if err != nil || mods != c.mods || k != c.key {
			t.Errorf("%s: %d %+v %v", c.chord, mods, k, err)
		}
	}
	for _, chord := range []string{"", "Foo", "Foo+a", "Control+", "+a", "ab"} {
		if _, _, err := Parse(chord); err == nil {
			t.Errorf("%q was taken", chord)
		}
	}
}

func TestModifiersArePressedAroundTheKey(t *testing.T) {
	events := Strokes(Control|Shift, For('k'))
	var got []string
	for _, e := range events {
		got = append(got, string(e.Type)+" "+e.Key)
	}
	want := []string{"rawKeyDown Control", "rawKeyDown Shift", "keyDown k", "keyUp k", "keyUp Shift", "keyUp Control"}
	if len(got) != len(want) {
		t.Fatal(got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatal(got)
		}
	}
}

func FuzzChord(f *testing.F) {
	f.Add("Control+Shift+a")
	f.Fuzz(func(t *testing.T, s string) {
		_, k, err := Parse(s)
		if err == nil && k.key == "" {
			t.Fatalf("%q presses nothing", s)
		}
	})
}
