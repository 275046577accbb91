package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/cmd/parley/internal/figures"
	"parley/guard/audit"
	"parley/guard/fence"
	"parley/guard/policy"
	"parley/guard/seal"
)

// guard measures what every call and every text pays. It needs no service and no models.
func (b *bench) guard(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, _, err := policy.New(policy.Source{Table: policy.Guarded}, policy.Config{})
	if err != nil {
		return err
	}
	scope, err := policy.NewScope(policy.Start{URL: "https://shop.test/", Standing: []string{"a.test", "b.test", "c.test"}})
	if err != nil {
		return err
	}
	requests := []policy.Request{
		{Action: "read", Scope: scope, PageHost: "shop.test"},
		{Action: "navigate", Scope: scope, PageHost: "shop.test", Args: policy.Args{URL: "https://www.shop.test/cart?id=1234567890&ref=abcdef"}},
		{Action: "navigate", Scope: scope, PageHost: "shop.test", Args: policy.Args{URL: "https://evil.test/?d=" + strings.Repeat("x", 600)}},
		{Action: "type", Scope: scope, PageHost: "shop.test", Args: policy.Args{Submit: true}},
		{Action: "meeting_join", Scope: scope, CanMeet: true, Args: policy.Args{URL: "https://meet.test/abc"}},
	}
	decide := sample(40, func() float64 {
		const rounds = 20000
		began := threadTime()
		for i := range rounds {
			p.Decide(&requests[i%len(requests)])
		}
		return float64((threadTime() - began).Nanoseconds()) / rounds / 1000
	})
	text := benchText(100 << 10)
	sealer := seal.NewSealer("bench.test")
	sealing := sample(b.o.n*4, func() float64 {
		began := threadTime()
		sealer.Seal("me", text)
		return float64((threadTime() - began).Microseconds()) / 1000
	})
	var f fence.Fence
	fencing := sample(b.o.n*4, func() float64 {
		began := threadTime()
		f.Wrap(strings.Repeat("0", 32), f.Clean(text))
		return float64((threadTime() - began).Microseconds()) / 1000
	})
	log, err := audit.Open(filepath.Join(b.dir, "audit"), audit.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	var failed error
	recording := sample(40, func() float64 {
		const rounds = 50
		began := threadTime()
		for range rounds {
			if err := log.Write(audit.Record{At: time.Now(), Stage: "completed", Tenant: "me", Token: "0123456789ab", Tool: "read", Rules: []string{"form-submission"}}); err != nil {
				failed = err
			}
		}
		return float64((threadTime() - began).Microseconds()) / rounds
	})
	if failed != nil {
		return failed
	}
	b.add(
		figures.AtMost("decision of the policy, processor time", "µs", 1, decide...),
		figures.AtMost("secrets sought in 100 KiB of text, processor time", "ms", 5, sealing...),
		figures.AtMost("100 KiB of text fenced, processor time", "ms", 5, fencing...),
		figures.AtMost("a record of the audit, processor time", "µs", 200, recording...).Noted("without waiting for the disk"),
	)
	return ctx.Err()
}

// threadTime is the processor time of this thread: what else the machine does is not in it.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(ts.Nano())
}

func sample(n int, one func() float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = one()
	}
	return out
}

// benchText is prose with what a page has in it: links, ids, digests, a few secrets.
func benchText(size int) string {
	var s strings.Builder
	for i := 0; s.Len() < size; i++ {
		fmt.Fprintf(&s, "Order %d of 12 March was sent to the address you gave; follow it at https://shop.test/track/%08x?ref=mail&id=%d.\n", i, i*2654435761, i)
		switch i % 20 {
		case 3:
			fmt.Fprintf(&s, "commit %040x, build 3f2a9c10-77b1-4c1e-9d0a-%012x\n", i*7919, i)
		case 9:
			fmt.Fprintf(&s, "Your password is Kx%dq-pLm9Zt, keep it.\n", i)
		case 15:
			s.WriteString("ContinueReadingTheFullArticleHere and TheSectionAboutDeliveryTimes\n")
		}
	}
	return s.String()[:size]
}
