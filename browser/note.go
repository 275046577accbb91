package browser

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Note is something that happened beside a call; the next answer tells it.
type Note struct {
	Kind string // opened, closed, current, crashed, replaced
	Tab  string
}

// The kinds of notes.
const (
	noteOpened   = "opened"
	noteClosed   = "closed"
	noteCurrent  = "current"
	noteCrashed  = "crashed"
	noteReplaced = "replaced"
)

// maxNotes bounds what waits to be told. The oldest go, and are counted.
const maxNotes = 30

func (s *Session) note(p *Page, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, Note{Kind: kind, Tab: p.id})
	if len(s.notes) > maxNotes {
		s.notes = s.notes[1:]
		s.dropped++
	}
}

// takeNotes gives what has not been told yet.
func (s *Session) takeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	say := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	for _, n := range s.notes {
		switch n.Kind {
		case noteOpened:
			say("tab %s was opened by the page", n.Tab)
		case noteClosed:
			say("tab %s is closed", n.Tab)
		case noteCurrent:
			say("tab %s is now current", n.Tab)
		case noteCrashed:
			say("the page in tab %s crashed: navigate again", n.Tab)
		case noteReplaced:
			say("the tab did not respond and was replaced by %s, at about:blank: navigate again", n.Tab)
		}
	}
	if s.dropped > 0 {
		say("%d older events of tabs are not listed", s.dropped)
	}
	if s.refused > 0 {
		say("%d tabs more were opened and closed at once: a session has at most %d", s.refused, MaxTabs)
	}
	s.notes, s.dropped, s.refused = nil, 0, 0
	return out
}

// Download is a file that a page offered. None is taken: the browser was told to refuse them.
type Download struct {
	ID    string `json:"-"`
	Name  string `json:"name" arg:"untrusted" doc:"The file's suggested name."`
	URL   string `json:"url" arg:"untrusted" doc:"Where it comes from."`
	State string `json:"state" doc:"refused: files are not taken from this session; or completed."`
	told  bool
}

func (s *Session) downloading(e *cdp.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Method == "Browser.downloadWillBegin" {
		var d proto.BrowserDownloadWillBegin
		if decode(e.Params, &d) != nil {
			return
		}
		s.downloads = append(s.downloads, Download{ID: d.GUID, Name: clip(d.SuggestedFilename, 200), URL: clip(d.URL, 500), State: "refused"})
		if len(s.downloads) > 50 {
			s.downloads = s.downloads[1:]
		}
	} else {
		var d proto.BrowserDownloadProgress
		if decode(e.Params, &d) != nil {
			return
		}
		for i := range s.downloads {
			if s.downloads[i].ID != d.GUID {
				continue
			}
			if d.State == proto.BrowserDownloadProgressStateCompleted {
				s.downloads[i].State = "completed"
			}
		}
	}
	s.wakeLocked()
}

// takeDownloads gives those that have not been told yet.
func (s *Session) takeDownloads() []Download {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Download
	for i := range s.downloads {
		if !s.downloads[i].told {
			s.downloads[i].told = true
			out = append(out, s.downloads[i])
		}
	}
	return out
}

// untoldDownloads counts them.
func (s *Session) untoldDownloads() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.downloads {
		if !s.downloads[i].told {
			n++
		}
	}
	return n
}

// ErrNoTab means that the session has no tab of that name.
var ErrNoTab = errors.New("the session has no such tab")

// Tab finds a tab by its name.
func (s *Session) Tab(id string) (*Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.tabs {
		if p.id == id {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", clip(id, 20), ErrNoTab)
}
