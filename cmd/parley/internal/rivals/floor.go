package rivals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// Floor is a page of a browser that is driven without anything between.
type Floor interface {
	With(ctx context.Context) proto.Client
	Close() error
}

// shortest writes what can be worked and read in the page, by the shortest script that does it: no names by ARIA, no
// frames, no masks, nothing hidden left out.
const shortest = `(() => {
	const out = [], walk = document.createTreeWalker(document.body, 5);
	let n = 0;
	for (let e = walk.nextNode(); e; e = walk.nextNode()) {
		if (e.nodeType === 1) { if (/^(A|BUTTON|INPUT)$/.test(e.tagName)) out.push('e' + ++n + ' ' + e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent)); continue; }
		const t = e.data.trim();
		if (t && !/^(A|BUTTON|SCRIPT)$/.test(e.parentNode.tagName)) out.push(t);
	}
	return out.join('\n');
})()`

// large reads a large page with our tools and over raw CDP, in turns.
func (r *Result) large(ctx context.Context, o Options, us *subject) error {
	sink, err := newSink(o.Large)
	if err != nil {
		return err
	}
	defer sink.close()
	raw, err := o.Raw(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }() // the figures are there
	for round := range o.Rounds {
		tool, args := us.navigate(us, sink.url("large", round))
		if _, err := us.call(ctx, tool, args); err != nil {
			return err
		}
		began := time.Now()
		tool, args = us.snapshot(us, "")
		if _, err := us.call(ctx, tool, args); err != nil {
			return err
		}
		r.LargeOurs = append(r.LargeOurs, ms(began))
		took, err := floor(ctx, raw, sink.url("floor", round))
		if err != nil {
			return err
		}
		r.LargeFloor = append(r.LargeFloor, took)
		o.Say("large page, round %d of %d", round+1, o.Rounds)
	}
	return nil
}

// floor opens the page and writes it down once, in ms.
func floor(ctx context.Context, raw Floor, url string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	c := raw.With(ctx)
	if _, err := (proto.PageNavigate{URL: url}).Call(c); err != nil {
		return 0, err
	}
	for {
		got, err := proto.RuntimeEvaluate{Expression: "document.readyState === 'complete' && location.href === " + asJSON(url), ReturnByValue: true}.Call(c)
		if err != nil {
			return 0, err
		}
		if got.Result.Value.Bool() {
			break
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	began := time.Now()
	got, err := proto.RuntimeEvaluate{Expression: shortest, ReturnByValue: true}.Call(c)
	if err != nil {
		return 0, err
	}
	took := ms(began)
	if n := strings.Count(got.Result.Value.Str(), "\n"); n < 100 {
		return 0, fmt.Errorf("the page has %d lines only", n)
	}
	return took, nil
}
