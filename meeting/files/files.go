// Package files knows where the files of a meeting lie, how they are deleted for good, and how long they stay.
//
//	recordings/<tenant>/<id>.ogg       the recording (0600); further parts <id>.2.ogg, … until they are joined
//	recordings/<tenant>/<id>.jsonl     the transcript
//	recordings/<tenant>/<id>.evidence/ how it came about: journal, transitions, pictures; no chat, no speech
//	recordings/<tenant>/<id>.deleted   the marker after a deletion: nothing stands beside it
//	consents/<tenant>/<id>.jsonl       the consent ledger
//
// A deletion writes and syncs the marker first, then unlinks everything whose name begins with "<id>."; a start
// unlinks whatever it finds beside a marker. So a crash at any moment of a deletion is finished by the next start.
package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MarkerExt ends the name of a deletion marker.
const MarkerExt = ".deleted"

var (
	idForm     = regexp.MustCompile(`^m[0-9a-f]{12}$`)
	tenantForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// ErrName means that a tenant or a meeting id cannot be the name of a file.
var ErrName = errors.New("not a name of a tenant and a meeting")

// Set is the files of one meeting.
type Set struct{ data, tenant, id string }

// Of names the files of a meeting in a data folder. It makes nothing.
func Of(data, tenant, id string) (Set, error) {
	if !idForm.MatchString(id) || !tenantForm.MatchString(tenant) {
		return Set{}, fmt.Errorf("%w: %q, %q", ErrName, tenant, id)
	}
	return Set{data, tenant, id}, nil
}

// Dir is the folder of the tenant's recordings.
func (s Set) Dir() string { return filepath.Join(s.data, "recordings", s.tenant) }

func (s Set) at(ext string) string { return filepath.Join(s.Dir(), s.id+ext) }

// Recording is part one, and in the end the whole of the recording.
func (s Set) Recording() string { return s.at(".ogg") }

// Part is the n-th part, from 1 on.
func (s Set) Part(n int) string {
	if n <= 1 {
		return s.Recording()
	}
	return s.at("." + strconv.Itoa(n) + ".ogg")
}

// Parts are the parts that exist, in their order.
func (s Set) Parts() []string {
	var parts []string
	for n := 1; ; n++ {
		if _, err := os.Stat(s.Part(n)); err != nil {
			if n == 1 { // the first may be missing although others are there
				if _, err := os.Stat(s.Part(2)); err == nil {
					continue
				}
			}
			return parts
		}
		parts = append(parts, s.Part(n))
	}
}

// Transcript is the transcript.
func (s Set) Transcript() string { return s.at(".jsonl") }

// Evidence is the folder of the evidence bundle.
func (s Set) Evidence() string { return s.at(".evidence") }

// Journal is the machine's journal, in the bundle.
func (s Set) Journal() string { return filepath.Join(s.Evidence(), "journal.jsonl") }

// Last is when something of the meeting was written last; zero where there is nothing.
func (s Set) Last() time.Time {
	var last time.Time
	for _, path := range append(s.Parts(), s.Transcript(), s.Journal(), s.Ledger(), s.Marker()) {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Marker is the deletion marker.
func (s Set) Marker() string { return s.at(MarkerExt) }

// Ledger is the consent ledger.
func (s Set) Ledger() string { return filepath.Join(s.data, "consents", s.tenant, s.id+".jsonl") }

// Prepare makes the folders, 0700.
func (s Set) Prepare() error {
	for _, dir := range []string{s.Dir(), filepath.Dir(s.Ledger())} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("folder of recordings: %w", err)
		}
	}
	return nil
}

// Deleted says whether the marker stands.
func (s Set) Deleted() bool {
	_, err := os.Lstat(s.Marker())
	return err == nil
}

// Mark writes the marker and syncs it and its folder: from now on the deletion will be finished, whatever happens.
func (s Set) Mark() error {
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		return fmt.Errorf("deletion marker: %w", err)
	}
	f, err := os.OpenFile(s.Marker(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("deletion marker: %w", err)
	}
	err = errors.Join(f.Sync(), f.Close(), syncDir(s.Dir()))
	if err != nil {
		return fmt.Errorf("deletion marker: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Unlink removes everything of the meeting but the marker and the ledger. Files that are not there are no error. It
// goes on after an error, and syncs the folder at the end.
func (s Set) Unlink() error {
	entries, err := os.ReadDir(s.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete the files of %s: %w", s.id, err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), s.id+".") && e.Name() != s.id+MarkerExt {
			errs = append(errs, os.RemoveAll(filepath.Join(s.Dir(), e.Name())))
		}
	}
	errs = append(errs, syncDir(s.Dir()))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("delete the files of %s: %w", s.id, err)
	}
	return nil
}

// Delete is Mark and Unlink.
func (s Set) Delete() error {
	marked := s.Mark()
	return errors.Join(marked, s.Unlink()) // without a marker it is deleted all the same
}

// Keep writes a file of the evidence bundle and gives its path. Beside a marker nothing is kept.
func (s Set) Keep(name string, data []byte) (string, error) {
	if s.Deleted() {
		return "", fs.ErrClosed
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("evidence: %w", ErrName)
	}
	if err := os.MkdirAll(s.Evidence(), 0o700); err != nil {
		return "", fmt.Errorf("evidence: %w", err)
	}
	path := filepath.Join(s.Evidence(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("evidence: %w", err)
	}
	return path, nil
}

// Note appends an entry to the ledger, as a line of JSON that is synced: it is proof.
func (s Set) Note(entry any) error {
	raw, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("consent ledger: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.Ledger()), 0o700); err != nil {
		return fmt.Errorf("consent ledger: %w", err)
	}
	f, err := os.OpenFile(s.Ledger(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("consent ledger: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("consent ledger: %w", err)
	}
	return nil
}

// Notes gives the lines of the ledger, as they were written. A meeting without one gives none; a last line that was cut
// off by a crash is left out.
func (s Set) Notes() ([]json.RawMessage, error) {
	raw, err := os.ReadFile(s.Ledger())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("consent ledger: %w", err)
	}
	var notes []json.RawMessage
	for _, line := range bytes.Split(raw, []byte{'\n'}) {
		if json.Valid(line) {
			notes = append(notes, json.RawMessage(line))
		}
	}
	return notes, nil
}

// Swept says what a sweep removed.
type Swept struct {
	// Finished are meetings whose deletion had been interrupted.
	Finished []string
	// Expired are meetings whose files were older than they may be.
	Expired []string
	// Markers and Ledgers are how many of them were old enough to go.
	Markers, Ledgers int
}

// Policy says how long things stay. A negative time is for ever; zero removes at the next sweep.
type Policy struct {
	// Keep is for recordings, transcripts, evidence and markers of a tenant.
	Keep func(tenant string) time.Duration
	// KeepLedger is for consent ledgers. Nil: a year.
	KeepLedger func(tenant string) time.Duration
	// Busy says that a meeting is going on: its files stay whatever their age.
	Busy func(id string) bool
}

// Sweep finishes interrupted deletions and removes what is too old. It goes on after errors and joins them.
func Sweep(data string, now time.Time, p Policy) (Swept, error) {
	var done Swept
	var errs []error
	each(filepath.Join(data, "recordings"), &errs, func(tenant string, entries []fs.DirEntry) {
		sets, newest := group(entries)
		for id, marked := range sets {
			s := Set{data, tenant, id}
			busy := p.Busy != nil && p.Busy(id)
			switch old := p.Keep != nil && expired(now, newest[id], p.Keep(tenant)); {
			case marked && onlyMarker(entries, id):
				if old && !busy {
					errs = append(errs, os.Remove(s.Marker()))
					done.Markers++
				}
			case marked:
				errs = append(errs, s.Unlink())
				done.Finished = append(done.Finished, id)
			case old && !busy:
				errs = append(errs, s.Delete())
				done.Expired = append(done.Expired, id)
			}
		}
	})
	each(filepath.Join(data, "consents"), &errs, func(tenant string, entries []fs.DirEntry) {
		keep := 365 * 24 * time.Hour
		if p.KeepLedger != nil {
			keep = p.KeepLedger(tenant)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !expired(now, info.ModTime(), keep) {
				continue
			}
			errs = append(errs, os.Remove(filepath.Join(data, "consents", tenant, e.Name())))
			done.Ledgers++
		}
	})
	return done, errors.Join(errs...)
}

func expired(now, at time.Time, keep time.Duration) bool {
	return keep >= 0 && !at.Add(keep).After(now)
}

// each visits the folders of tenants.
func each(root string, errs *[]error, f func(tenant string, entries []fs.DirEntry)) {
	tenants, err := os.ReadDir(root)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			*errs = append(*errs, fmt.Errorf("sweep: %w", err))
		}
		return
	}
	for _, t := range tenants {
		if !t.IsDir() || !tenantForm.MatchString(t.Name()) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, t.Name()))
		if err != nil {
			*errs = append(*errs, fmt.Errorf("sweep: %w", err))
			continue
		}
		f(t.Name(), entries)
	}
}

// group sorts a folder by meeting: whether its marker stands, and when its newest file changed.
func group(entries []fs.DirEntry) (marked map[string]bool, newest map[string]time.Time) {
	marked, newest = map[string]bool{}, map[string]time.Time{}
	for _, e := range entries {
		id, rest, _ := strings.Cut(e.Name(), ".")
		if !idForm.MatchString(id) {
			continue // not ours
		}
		marked[id] = marked[id] || "."+rest == MarkerExt
		if info, err := e.Info(); err == nil && info.ModTime().After(newest[id]) {
			newest[id] = info.ModTime()
		}
	}
	return marked, newest
}

func onlyMarker(entries []fs.DirEntry, id string) bool {
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+".") && e.Name() != id+MarkerExt {
			return false
		}
	}
	return true
}
