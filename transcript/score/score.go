// Package score measures a transcript against the truth: word errors, and errors of who said what.
package score

import "math"

// Errors counts the edits that turn the reference into what was written.
type Errors struct {
	Substituted, Inserted, Deleted int
	// Reference is how many words there should be.
	Reference int
}

// Count is all errors.
func (e Errors) Count() int { return e.Substituted + e.Inserted + e.Deleted }

// Rate is errors per reference word; with no reference, 0 without errors and +Inf with some.
func (e Errors) Rate() float64 {
	switch {
	case e.Reference > 0:
		return float64(e.Count()) / float64(e.Reference)
	case e.Count() == 0:
		return 0
	}
	return math.Inf(1)
}

// Add is the sum.
func (e Errors) Add(o Errors) Errors {
	return Errors{e.Substituted + o.Substituted, e.Inserted + o.Inserted, e.Deleted + o.Deleted, e.Reference + o.Reference}
}

// Count compares two English texts: how many words are wrong, and how many there should be.
func Count(ref, hyp string) (wrong, words int) {
	e := WER(Normalize(ref, "en"), Normalize(hyp, "en"))
	return e.Count(), e.Reference
}

// WER compares two lists of words (as Normalize gives them) by edit distance.
func WER(ref, hyp []string) Errors {
	// One row at a time: the best way to each place, with its counts.
	row := make([]Errors, len(hyp)+1)
	for j := range row {
		row[j].Inserted = j
	}
	for i, r := range ref {
		diagonal := row[0]
		row[0].Deleted = i + 1
		for j, h := range hyp {
			best := diagonal
			if r != h {
				best.Substituted++
			}
			if d := row[j+1]; d.Count()+1 < best.Count() {
				best = d
				best.Deleted++
			}
			if ins := row[j]; ins.Count()+1 < best.Count() {
				best = ins
				best.Inserted++
			}
			diagonal, row[j+1] = row[j+1], best
		}
	}
	e := row[len(hyp)]
	e.Reference = len(ref)
	return e
}

// distance is the count of WER alone, faster.
func distance(ref, hyp []string) int {
	row := make([]int, len(hyp)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range ref {
		diagonal := row[0]
		row[0] = i + 1
		for j, h := range hyp {
			cost := diagonal
			if r != h {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(hyp)]
}

// CPWER is the word error rate of a meeting by speaker (concatenated minimum-permutation): each speaker's words
// in their order, the written speakers matched to the true ones in the way that costs least. Words given to the
// wrong person count twice, as missing here and inserted there. Speakers without a partner count in full.
func CPWER(ref, hyp map[string][]string) Errors {
	rk, hk := keys(ref), keys(hyp)
	n := max(len(rk), len(hk))
	cost := make([][]int, n)
	for i := range cost {
		cost[i] = make([]int, n)
		for j := range cost[i] {
			cost[i][j] = distance(at(ref, rk, i), at(hyp, hk, j))
		}
	}
	var total Errors
	for i, j := range assign(cost) {
		total = total.Add(WER(at(ref, rk, i), at(hyp, hk, j)))
	}
	return total
}

func at(m map[string][]string, keys []string, i int) []string {
	if i >= len(keys) {
		return nil
	}
	return m[keys[i]]
}

// Utterance is a stretch of speech of the truth.
type Utterance struct {
	Speaker string
	Words   []string
}

// ORCWER is the word error rate of a meeting whoever said it (optimal reference combination): each true
// utterance, in the order of time, goes to the written stream where it costs least. CPWER minus ORCWER is what
// the attribution costs.
//
// The assignment is found by descent from the best of several starts (exact search grows with the product of
// the streams' lengths), so the result can be above the true minimum, never below it.
func ORCWER(ref []Utterance, hyp map[string][]string) Errors {
	streams := keys(hyp)
	if len(streams) == 0 {
		var e Errors
		for _, u := range ref {
			e = e.Add(WER(u.Words, nil))
		}
		return e
	}
	best := Errors{Inserted: math.MaxInt32}
	for _, start := range starts(ref, hyp, streams) {
		if e := descend(ref, hyp, streams, start); e.Count() < best.Count() {
			best = e
		}
	}
	return best
}

// starts gives assignments to begin from: by the speakers' own best match, and each utterance by itself to the
// stream that contains most of it.
func starts(ref []Utterance, hyp map[string][]string, streams []string) [][]int {
	said := map[string][]string{}
	for _, u := range ref {
		said[u.Speaker] = append(said[u.Speaker], u.Words...)
	}
	home := map[string]int{}
	for speaker, words := range said {
		best := math.MaxInt
		for k, s := range streams {
			// What of this speaker is not in the stream, whatever else is in it.
			if d := distance(words, hyp[s]) - max(0, len(hyp[s])-len(words)); d < best {
				best, home[speaker] = d, k
			}
		}
	}
	bySpeaker, byFit := make([]int, len(ref)), make([]int, len(ref))
	for i, u := range ref {
		bySpeaker[i] = home[u.Speaker]
		best := math.MaxInt
		for k, s := range streams {
			if d := missing(u.Words, hyp[s]); d < best {
				best, byFit[i] = d, k
			}
		}
	}
	return [][]int{bySpeaker, byFit}
}

// missing is the fewest edits with which words appear anywhere inside text.
func missing(words, text []string) int {
	row := make([]int, len(text)+1) // beginning anywhere is free
	for i, w := range words {
		diagonal := row[0]
		row[0] = i + 1
		for j, t := range text {
			cost := diagonal
			if w != t {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	best := row[0]
	for _, c := range row {
		best = min(best, c) // ending anywhere, too
	}
	return best
}

// descend moves one utterance at a time while that helps.
func descend(ref []Utterance, hyp map[string][]string, streams []string, where []int) Errors {
	gather := func(k int) []string {
		var w []string
		for i, u := range ref {
			if where[i] == k {
				w = append(w, u.Words...)
			}
		}
		return w
	}
	cost := make([]int, len(streams))
	for k, s := range streams {
		cost[k] = distance(gather(k), hyp[s])
	}
	for improved := true; improved; {
		improved = false
		for i := range ref {
			from := where[i]
			for k, s := range streams {
				if k == from {
					continue
				}
				where[i] = k
				a, b := distance(gather(from), hyp[streams[from]]), distance(gather(k), hyp[s])
				if a+b < cost[from]+cost[k] {
					cost[from], cost[k] = a, b
					from = k
					improved = true
				} else {
					where[i] = from
				}
			}
		}
	}
	var total Errors
	for k, s := range streams {
		total = total.Add(WER(gather(k), hyp[s]))
	}
	return total
}
