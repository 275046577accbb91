package tool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"parley/tenant"
	"parley/tool"
	"parley/upload"
)

// links makes addresses without a service.
type links struct{}

func (links) Upload(_ context.Context, _ tool.Caller, f upload.File) (tool.UploadLink, error) {
	return tool.UploadLink{URL: "http://127.0.0.1/upload/" + f.ID, Curl: "curl", ValidMin: 15}, nil
}

func TestASmallFileComesWithTheCall(t *testing.T) {
	store, err := upload.Open(upload.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := tool.NewService(tool.Options{Tools: tool.UploadTable(store, links{}), Fence: fence{t.Logf}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	by := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full}}}
	call := func(args map[string]any) tool.Answer {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return s.Invoke(t.Context(), tool.Call{Tool: "upload_create", Args: raw, Caller: by})
	}
	content := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", n))) }
	for name, c := range map[string]struct {
		args map[string]any
		want tool.Code
	}{
		"all of it":              {map[string]any{"filename": "f.wav", "content_base64": content(1000)}, ""},
		"in lines":               {map[string]any{"filename": "f.wav", "content_base64": content(30) + "\n"}, ""},
		"the most":               {map[string]any{"filename": "f.wav", "content_base64": content(1 << 20)}, ""},
		"more":                   {map[string]any{"filename": "f.wav", "content_base64": content(1<<20 + 1)}, tool.CodeFileTooLarge},
		"another size":           {map[string]any{"filename": "f.wav", "content_base64": content(10), "size_bytes": 11}, tool.CodeBadArgument},
		"no base64":              {map[string]any{"filename": "f.wav", "content_base64": "*"}, tool.CodeBadArgument},
		"a folder in the name":   {map[string]any{"filename": "../f.wav", "content_base64": content(10)}, tool.CodeBadArgument},
		"to be sent":             {map[string]any{"filename": "f.wav", "size_bytes": 100}, ""},
		"to be sent, too large":  {map[string]any{"filename": "f.wav", "size_bytes": 400 << 20}, tool.CodeFileTooLarge},
		"no name":                {map[string]any{"size_bytes": 100}, tool.CodeBadArgument},
		"to be sent, of no size": {map[string]any{"filename": "f.wav"}, ""},
	} {
		a := call(c.args)
		code := tool.Code("")
		if a.Err != nil {
			code = a.Err.Code
		}
		if code != c.want {
			t.Errorf("%s: %q, want %q: %s", name, code, c.want, a.Text)
		}
		if code != "" {
			continue
		}
		var up tool.Uploaded
		if err := json.Unmarshal(a.Structured, &up); err != nil {
			t.Fatal(err)
		}
		if sent := c.args["content_base64"] != nil; up.File == "" || sent != (up.URL == "") || sent != (up.Size > 0) {
			t.Errorf("%s: %+v", name, up)
		}
	}
	by.Tenant.Policy = tenant.Ephemeral
	if a := call(map[string]any{"filename": "f", "content_base64": content(1)}); a.Err == nil || a.Err.Code != tool.CodeNotAllowed {
		t.Errorf("a read-only token: %s", a.Text)
	}
}
