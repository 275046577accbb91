package standin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
)

// Kind is what a platform's stand-in consists of. It is data and files; the server is the same for all.
type Kind struct {
	// Name is the platform's in links and settings ("meet").
	Name string
	// Files are the pages: index.html, the script and the style that it names, and words.json.
	Files fs.FS
	// Link is the path of a meeting, with its query, as an invitation would have it.
	Link string
	// Screens are those that the page can show, beside "in" and what the server itself knows.
	Screens []string
	// Dialogs are those that the page can show in the call or before it.
	Dialogs []string
	// Flags are the page's switches.
	Flags []string
	// Drops are the redundant signs of which a mutation may leave one out.
	Drops []string
	// Always are flags that are on unless a scenario takes them off with a "-" before the name.
	Always []string
	// Joining is the screen between being let in and being in; empty means that there is none.
	Joining string
	// AudioByHand says that there is no sound before the page's button for it is pressed.
	AudioByHand bool
	// DevicesReset says that microphone and camera are on again after being let in.
	DevicesReset bool
	// Profile is the path of an account's own page, and SignIn where it sends whoever has none; empty: there is no such page.
	Profile, SignIn string
	// Honours says which language a visit's address asks for; empty means that the address says nothing.
	Honours func(address *url.URL) string
	// Scenarios are those that come with it: files in the form of ParseScenario.
	Scenarios fs.FS
}

// Words are a page's texts: by language, then by key. Each key has one or more wordings.
type Words map[string]struct {
	// Seen were found in public sources; Guess are ours, since the sources are silent.
	Seen  map[string][]string `json:"seen"`
	Guess map[string][]string `json:"guess,omitempty"`
}

// Words reads the page's texts.
func (k Kind) Words() (Words, error) {
	raw, err := fs.ReadFile(k.Files, "words.json")
	if err != nil {
		return nil, fmt.Errorf("stand-in of %s: %w", k.Name, err)
	}
	var w Words
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("stand-in of %s: words.json: %w", k.Name, err)
	}
	return w, nil
}

// Languages are those that the page speaks, sorted.
func (k Kind) Languages() ([]string, error) {
	w, err := k.Words()
	if err != nil {
		return nil, err
	}
	var all []string
	for l := range w {
		all = append(all, l)
	}
	slices.Sort(all)
	return all, nil
}
