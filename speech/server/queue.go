package server

import "parley/speech/segment"

// queue holds the decodes that wait, fairly: streams take turns, finals go before drafts and drafts before partials,
// and a stream has at most one partial waiting, its newest. It is not safe for concurrent use.
type queue struct {
	streams []*slot // in turn
	next    int
	dropped [segment.Final + 1]int64
}

// slot is what waits for one stream.
type slot struct {
	owner any
	jobs  [segment.Final + 1][]*job
}

// add queues a job and gives the one it replaces.
func (q *queue) add(j *job) (replaced *job) {
	s := q.slot(j.owner)
	list := &s.jobs[j.kind]
	if j.kind == segment.Partial && len(*list) > 0 {
		replaced = (*list)[0]
		*list = (*list)[:0]
		q.dropped[segment.Partial]++
	}
	*list = append(*list, j)
	return replaced
}

// take gives the job to do now, or nil.
func (q *queue) take() *job {
	for kind := segment.Final; kind >= segment.Partial; kind-- {
		for i := range q.streams {
			at := (q.next + i) % len(q.streams)
			s := q.streams[at]
			if len(s.jobs[kind]) == 0 {
				continue
			}
			j := s.jobs[kind][0]
			s.jobs[kind] = s.jobs[kind][1:]
			q.next = at + 1
			q.tidy(at)
			return j
		}
	}
	return nil
}

// remove takes a job out again and says whether it was there.
func (q *queue) remove(owner any, id int64) *job {
	for at, s := range q.streams {
		if s.owner != owner {
			continue
		}
		for kind := range s.jobs {
			for i, j := range s.jobs[kind] {
				if j.id == id {
					s.jobs[kind] = append(s.jobs[kind][:i:i], s.jobs[kind][i+1:]...)
					q.tidy(at)
					return j
				}
			}
		}
	}
	return nil
}

// removeAll forgets a stream and gives what waited for it.
func (q *queue) removeAll(owner any) (jobs []*job) {
	for at, s := range q.streams {
		if s.owner != owner {
			continue
		}
		for kind := range s.jobs {
			jobs = append(jobs, s.jobs[kind]...)
			s.jobs[kind] = nil
		}
		q.tidy(at)
		break
	}
	return jobs
}

// waiting counts the jobs of a kind.
func (q *queue) waiting(kind segment.Kind) (n int) {
	for _, s := range q.streams {
		n += len(s.jobs[kind])
	}
	return n
}

func (q *queue) slot(owner any) *slot {
	for _, s := range q.streams {
		if s.owner == owner {
			return s
		}
	}
	s := &slot{owner: owner}
	q.streams = append(q.streams, s)
	return s
}

// tidy forgets a slot that has nothing left, without changing whose turn it is.
func (q *queue) tidy(at int) {
	for _, list := range q.streams[at].jobs {
		if len(list) > 0 {
			return
		}
	}
	q.streams = append(q.streams[:at], q.streams[at+1:]...)
	if q.next > at {
		q.next--
	}
}
