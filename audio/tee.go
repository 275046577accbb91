package audio

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Tee hands every frame to each of its sinks, in the order they were added. A sink that fails harms no other:
// its error is counted and kept for Faults. Add and Remove may be called while frames flow.
type Tee struct {
	mu    sync.Mutex // held to change the list
	sinks atomic.Pointer[[]*teeSink]
}

type teeSink struct {
	name   string
	sink   Sink
	failed atomic.Int64
	last   atomic.Pointer[error]
}

// Add adds a sink under a name; a sink of the same name is replaced.
func (t *Tee) Add(name string, s Sink) {
	t.change(func(list []*teeSink) []*teeSink {
		return append(without(list, name), &teeSink{name: name, sink: s})
	})
}

// Remove takes a sink away. A Write that is under way may still reach it.
func (t *Tee) Remove(name string) {
	t.change(func(list []*teeSink) []*teeSink { return without(list, name) })
}

func (t *Tee) change(edit func([]*teeSink) []*teeSink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*teeSink
	if p := t.sinks.Load(); p != nil {
		list = slices.Clone(*p)
	}
	list = edit(list)
	t.sinks.Store(&list)
}

func without(list []*teeSink, name string) []*teeSink {
	return slices.DeleteFunc(list, func(s *teeSink) bool { return s.name == name })
}

// Write hands the frame to every sink. It never fails: see Faults.
func (t *Tee) Write(f Frame) error {
	p := t.sinks.Load()
	if p == nil {
		return nil
	}
	for _, s := range *p {
		if err := s.sink.Write(f); err != nil {
			s.failed.Add(1)
			s.last.Store(&err)
		}
	}
	return nil
}

// TeeFault is a sink that failed, how often, and its last error.
type TeeFault struct {
	Name  string
	Count int64
	Last  error
}

// Faults lists the sinks that ever failed.
func (t *Tee) Faults() []TeeFault {
	p := t.sinks.Load()
	if p == nil {
		return nil
	}
	var out []TeeFault
	for _, s := range *p {
		if n := s.failed.Load(); n > 0 {
			out = append(out, TeeFault{s.name, n, *s.last.Load()})
		}
	}
	return out
}
