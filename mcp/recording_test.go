package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/mcp/links"
	"parley/store"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

func TestARecordingIsFetchedByItsLink(t *testing.T) {
	st, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	meetings := &toolfake.Meetings{Dir: t.TempDir()}
	reg, err := tenant.NewRegistry(tenant.Config{Tokens: []tenant.Credential{{Tenant: "me", Token: tokenMe}}})
	if err != nil {
		t.Fatal(err)
	}
	service := links.New(links.Options{Store: st.Links, Auth: reg, Kinds: []links.Kind{links.Recordings(meetings, nil)}})
	w := newWorld(t, func(o *Options) {
		o.Auth, o.Links = reg, service
		if o.Tools, err = tool.NewService(tool.Options{Tools: tool.Table(meetings, service)}); err != nil {
			t.Fatal(err)
		}
	})
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", nil)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/r"})["meeting_id"].(string)
	get := func() map[string]any { return p.tool("recording_get", map[string]any{"meeting_id": id}) }
	if r := get(); r["error"] != "recording_writing" {
		t.Error(r)
	}
	meetings.Say(id, "Ada", "Good bye.")
	p.tool("meeting_leave", map[string]any{"meeting_id": id})
	r := get()
	url, _ := r["get_url"].(string)
	// The address is the one that the client connected to.
	if !strings.HasPrefix(url, "http://"+w.addr+"/recording/"+id+"?t=") || !strings.Contains(r["curl"].(string), url) || r["valid_min"] != 15.0 {
		t.Fatal(r)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || float64(len(body)) != r["size"] {
		t.Errorf("%d, %d bytes, %v", resp.StatusCode, len(body), err)
	}
	second := get()["get_url"].(string)
	if r := p.tool("meeting_recording_delete", map[string]any{"meeting_id": id}); r["deleted"] != true {
		t.Error(r)
	}
	if resp, err := http.Get(second); err != nil || resp.StatusCode != 404 {
		t.Error(resp, err)
	}
	if r := get(); r["error"] != "recording_deleted" {
		t.Error(r)
	}
}
