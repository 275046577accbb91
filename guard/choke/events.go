package choke

import (
	"context"
	"reflect"
	"strings"

	"parley/tenant"
	"parley/tool"
)

// Events seals what is pushed: it does not pass the tools' way out. Nil stays nil.
func (g *Guard) Events(w tool.Watcher) tool.Watcher {
	if w == nil {
		return nil
	}
	return watcher{g, w}
}

type watcher struct {
	g *Guard
	w tool.Watcher
}

// Watch passes events on until the inner ones end. Ctx ends them.
func (w watcher) Watch(ctx context.Context) <-chan tool.Event {
	in := w.w.Watch(ctx)
	out := make(chan tool.Event)
	go func() {
		defer close(out)
		for e := range in {
			select {
			case out <- w.g.SealEvent(e):
			case <-ctx.Done():
				for range in { // its maker closes it
				}
				return
			}
		}
	}()
	return out
}

// SealEvent is the event with every text sealed that a page or a meeting's people wrote. The event itself may be
// shared and is not changed.
func (g *Guard) SealEvent(e tool.Event) tool.Event {
	v := reflect.ValueOf(&e).Elem()
	sealTexts(v, false, func(s string) string { return g.Seal(e.Tenant, s) })
	return e
}

// sealTexts replaces untrusted texts of a struct, by the tag that marks them for the fence. What is behind a pointer or
// in a slice is copied first.
func sealTexts(v reflect.Value, untrusted bool, seal func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if untrusted {
			v.SetString(seal(v.String()))
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		sealTexts(c.Elem(), untrusted, seal)
		v.Set(c)
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			sealTexts(c.Index(i), untrusted, seal)
		}
		v.Set(c)
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				sealTexts(v.Field(i), untrusted || has(f.Tag.Get("arg"), "untrusted"), seal)
			}
		}
	}
}

func has(tag, word string) bool {
	for part := range strings.SplitSeq(tag, ",") {
		if part == word {
			return true
		}
	}
	return false
}

// ForTenant is Seal for one tenant, for what carries one tenant's words alone.
func (g *Guard) ForTenant(t tenant.ID) func(string) string {
	return func(s string) string { return g.Seal(t, s) }
}
