// Package server is the speech process without its models: it greets clients, cuts their audio into segments, shares
// one recogniser and one voice fairly between them, and ends when nobody needs it any more.
//
// Three things compute, each in one thread: the ear (activity and end of turn, a few percent of a core), the
// recogniser, and the voice. Everything else waits for them in queues with a bound.
package server
