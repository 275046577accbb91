package links

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/tenant"
	"parley/testkit/need"
	"parley/tool"
	"parley/upload"
)

// intake is a world whose links take files.
type intake struct {
	*world
	store *upload.Store
}

func newIntake(t *testing.T) *intake {
	w := newWorld(t, 16)
	st, err := upload.Open(upload.Options{Dir: filepath.Join(t.TempDir(), "uploads"), MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	w.s.kinds[UploadKind] = Uploads(st, nil)
	return &intake{world: w, store: st}
}

func (w *intake) create(name string, size int64) (upload.File, tool.UploadLink) {
	w.Helper()
	f, err := w.store.Create("me", name, size)
	if err != nil {
		w.Fatal(err)
	}
	l, err := w.s.Upload(w.Context(), tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}, BaseURL: w.url}, f)
	if err != nil {
		w.Fatal(err)
	}
	return f, l
}

func (w *intake) send(url, body string, header ...string) (int, string) {
	w.Helper()
	code, text, _ := ask(w.T, http.MethodPut, url, body, header...)
	return code, text
}

func TestAFileIsSentOnce(t *testing.T) {
	w := newIntake(t)
	f, l := w.create("it's report.pdf", 5)
	if l.ValidMin != 15 || !strings.HasPrefix(l.URL, w.url+"/upload/"+f.ID+"?t=") {
		t.Errorf("%+v", l)
	}
	code, body := w.send(l.URL, "hello")
	var got struct {
		ID   string `json:"file_id"`
		Name string `json:"filename"`
		Size int64  `json:"size"`
	}
	if err := json.Unmarshal([]byte(body), &got); code != 200 || err != nil || got.ID != f.ID || got.Name != "it's report.pdf" || got.Size != 5 {
		t.Errorf("%d %s %v", code, body, err)
	}
	if code, _ := w.send(l.URL, "hello"); code != 404 {
		t.Errorf("the address works twice: %d", code)
	}
	there, err := w.store.Get("me", f.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(there.Path); err != nil || string(raw) != "hello" {
		t.Errorf("%q %v", raw, err)
	}
}

func TestWhoMaySend(t *testing.T) {
	w := newIntake(t)
	for name, c := range map[string]struct {
		secret bool
		token  string
		want   int
	}{
		"the address":                       {true, "", 200},
		"the tenant's own token":            {false, tokenMe, 200},
		"both":                              {true, tokenMe, 200},
		"nothing":                           {false, "", 404},
		"another tenant's token":            {false, tokenYou, 404},
		"a read-only token":                 {false, tokenSwarm, 404},
		"the address with another's token":  {true, tokenYou, 404},
		"the address and a read-only token": {true, tokenSwarm, 404},
	} {
		f, l := w.create("f", 0)
		url := l.URL
		if !c.secret {
			url = w.url + "/upload/" + f.ID
		}
		var header []string
		if c.token != "" {
			header = []string{"Authorization", "Bearer " + c.token}
		}
		if code, body := w.send(url, "x", header...); code != c.want {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

func TestWhatASenderIsTold(t *testing.T) {
	w := newIntake(t)
	_, l := w.create("f", 5)
	if code, body := w.send(l.URL, "four"); code != 400 || !strings.Contains(body, "5 bytes were announced, and 4 came") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := w.send(l.URL, "five!"); code != 200 {
		t.Errorf("the address is gone though nothing came: %d", code)
	}
	f, l := w.create("f", 0)
	if code, body := w.send(l.URL, strings.Repeat("x", 1<<20+1)); code != 413 || !strings.Contains(body, "1048576 bytes") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := w.send(w.url+"/upload/"+f.ID, "x", "Authorization", "Bearer "+tokenMe); code != 200 {
		t.Errorf("%d", code)
	}
	if code, body := w.send(w.url+"/upload/"+f.ID, "x", "Authorization", "Bearer "+tokenMe); code != 409 {
		t.Errorf("a second time with the token: %d %s", code, body)
	}
	if code, _, h := w.do(http.MethodGet, l.URL); code != 405 || h.Get("Allow") != "PUT" {
		t.Errorf("%d %v", code, h)
	}
}

// The command that is given to agents works as it stands, whatever the file is called.
func TestTheCommandSends(t *testing.T) {
	need.Program(t, "curl")
	w := newIntake(t)
	for _, name := range []string{"it's; $(touch x) {a,b}[1-2].txt", "-", "-T"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, l := w.create(name, 7)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", l.Curl)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", l.Curl, err, out)
		}
		if got, err := w.store.Get("me", f.ID, ""); err != nil || got.Size != 7 {
			t.Errorf("%q: %+v %v", name, got, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%q: the shell took the name for a command", name)
		}
	}
}
