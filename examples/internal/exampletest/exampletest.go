// Package exampletest is a service with simulated meetings for the examples' tests.
package exampletest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channel/mcpl"
	"parley/mcp"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

// Token is the service's only one.
const Token = "token-of-me-0123456789abcdefghijklm"

// Service is a running service.
type Service struct {
	Meetings *toolfake.Meetings
	Addr     string
	server   *mcp.Server
}

// Start starts one and ends it with the test.
func Start(t testing.TB) *Service {
	t.Helper()
	reg, err := tenant.NewRegistry(tenant.Config{Tokens: []tenant.Credential{{Tenant: "me", Token: Token}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &toolfake.Meetings{}
	tools, err := tool.NewService(tool.Options{Tools: append(tool.Table(m, nil), tool.TalkTable(m)...)})
	if err != nil {
		t.Fatal(err)
	}
	board := mcpl.NewBoard(mcpl.BoardOptions{Set: mcp.MeetingSet, Meetings: m})
	server, err := mcp.New(mcp.Options{Version: "test", Tools: tools, Auth: reg, Events: m, Channels: board})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := errors.Join(tools.Close(ctx), server.Close(ctx), <-served)
		board.Close()
		if err != nil {
			t.Error(err)
		}
	})
	return &Service{Meetings: m, Addr: l.Addr().String(), server: server}
}

// Meeting waits for the first meeting that is attended.
func (s *Service) Meeting(t testing.TB) string {
	t.Helper()
	var id string
	Eventually(t, "a meeting is attended", func() bool {
		l, err := s.Meetings.List(t.Context(), "me", tool.ListArgs{Limit: 1})
		if err != nil || len(l.Meetings) == 0 {
			return false
		}
		id = l.Meetings[0].Meeting
		return l.Meetings[0].State == tool.Attending
	})
	return id
}

// Said waits until the agent has said something in the meeting.
func (s *Service) Said(t testing.TB, id, want string) {
	t.Helper()
	Eventually(t, "it says "+want, func() bool {
		for _, said := range s.Meetings.Talked(id) {
			if strings.Contains(said, want) {
				return true
			}
		}
		return false
	})
}

// Eventually asks until it is so.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

// Output is a buffer that many write to.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is all of it.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
