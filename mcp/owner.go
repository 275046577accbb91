package mcp

import (
	"crypto/rand"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tenant"
	"parley/tool"
)

// newOwner names a connection, for what it holds: browser sessions.
func newOwner() string { return "connection " + rand.Text()[:10] }

// owner names what holds the browser sessions of a call over HTTP: the session of the older era, else the token.
func (ts *tenantServer) owner(by tool.Caller, ss *sdk.ServerSession) string {
	id := ss.ID()
	if id == "" {
		return "token " + string(by.Token)
	}
	owner := "session " + id
	if ts.s.o.Gone == nil {
		return owner
	}
	ts.mu.Lock()
	watched := ts.holders[id]
	if !watched {
		if ts.holders == nil {
			ts.holders = map[string]bool{}
		}
		ts.holders[id] = true
	}
	ts.mu.Unlock()
	if !watched {
		ts.s.spawn(func() {
			_ = ss.Wait() // how it ended does not matter
			ts.mu.Lock()
			delete(ts.holders, id)
			ts.mu.Unlock()
			ts.s.gone(by.Tenant.ID, owner)
		})
	}
	return owner
}

// gone tells that an owner went away.
func (s *Server) gone(t tenant.ID, owner string) {
	if s.o.Gone != nil {
		s.o.Gone(t, owner)
	}
}
