package act_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

// brought are files that the browser's account can read.
func brought(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		p := filepath.Join(dir, n)
		if err := os.WriteFile(p, []byte("content of "+n), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

func giveFiles(t *testing.T, s *browser.Session, l locate.Locator, o act.UploadOptions, files ...string) (u act.Uploaded, err error) {
	t.Helper()
	if o.Wait == 0 {
		o.Wait = short * 5
	}
	_, err = s.Act(t.Context(), browser.ActOptions{}, func(ctx context.Context, p *browser.Page) error {
		var err error
		u, err = act.Upload(ctx, p, l, files, o)
		return err
	})
	return u, err
}

const taker = `<script>
	const take = async (list, trusted) => {
		const got = [];
		for (const f of [...list]) got.push(f.name + '=' + await f.text() + (trusted ? '' : ' by a script'));
		document.documentElement.dataset.got = got.sort().join(', ');
	};
	addEventListener('change', (e) => take(e.target.files, e.isTrusted));
</script>`

func TestFilesGoIntoAPage(t *testing.T) {
	files := brought(t, "one.txt", "two.txt")
	s := page(t, taker+`<input id=plain type=file><input id=many type=file multiple><label id=label for=hidden>Choose</label><input id=hidden type=file style="display:none">
		<button id=button onclick="document.querySelector('#behind').click()">Upload</button><input id=behind type=file multiple style="display:none">
		<button id=made onclick="const i = document.createElement('input'); i.type = 'file'; i.onchange = (e) => take(i.files, true); i.click()">Make</button>
		<div id=zone style="width:200px;height:80px;background:#ddd" ondragover="event.preventDefault()" ondrop="event.preventDefault(); take(event.dataTransfer.files, event.isTrusted)">Drop here</div>
		<input id=off type=file disabled><p id=nothing>Nothing</p>`)
	got := func() string {
		return browsertest.Eval[string](t, s, "async () => { const d = document.documentElement.dataset; for (let i = 0; i < 100 && !d.got; i++) await new Promise((r) => setTimeout(r, 20)); const g = d.got || ''; delete d.got; for (const i of document.querySelectorAll('input')) i.value = ''; return g; }")
	}
	const one, both = "one.txt=content of one.txt", "one.txt=content of one.txt, two.txt=content of two.txt"
	for _, c := range []struct {
		l      locate.Locator
		method string
		files  int
		want   string
		by     string
	}{
		{css("#plain"), "", 1, one, act.ByInput}, {css("#many"), "", 2, both, act.ByInput}, {css("#label"), "", 1, one, act.ByInput}, {css("#hidden"), "", 1, one, act.ByInput},
		{css("#button"), "", 2, both, act.ByChooser}, {css("#made"), "", 1, one, act.ByChooser}, {css("#plain"), act.ByChooser, 1, one, act.ByChooser},
		{css("#zone"), act.ByDrop, 2, both, act.ByDrop},
	} {
		u, err := giveFiles(t, s, c.l, act.UploadOptions{Method: c.method}, files[:c.files]...)
		if err != nil || u.Method != c.by || !u.Accepted {
			t.Errorf("%s %s: %+v %v", c.l.Selector, c.method, u, err)
			continue
		}
		if c.by == act.ByInput && (len(u.Names) != c.files || u.Names[0] != "one.txt") {
			t.Errorf("%s holds %v", c.l.Selector, u.Names)
		}
		if g := got(); g != c.want {
			t.Errorf("%s %s: the page got %q, want %q", c.l.Selector, c.method, g, c.want)
		}
	}
	for _, c := range []struct {
		l      locate.Locator
		method string
		files  int
		want   string
	}{
		{css("#plain"), "", 2, "takes one file only"}, {css("#made"), "", 2, "takes one file only"}, {css("#zone"), act.ByInput, 1, "no file input"}, {css("#off"), "", 1, "disabled"},
	} {
		if _, err := giveFiles(t, s, c.l, act.UploadOptions{Method: c.method}, files[:c.files]...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.l.Selector, err)
		}
	}
	if u, err := giveFiles(t, s, css("#nothing"), act.UploadOptions{Method: act.ByDrop}, files[0]); err != nil || u.Accepted || u.Uncertain == "" {
		t.Errorf("dropped where nothing takes it: %+v %v", u, err)
	}
}

func TestFilesGoIntoAFrameOfAnotherSite(t *testing.T) {
	files := brought(t, "one.txt")
	at := browsertest.Site(t, map[string]string{
		"/":     `<iframe src="{other}/form" width=400 height=200></iframe>`,
		"/form": taker + `<button id=button onclick="document.querySelector('#in').click()">Upload</button><input id=in type=file style="display:none" onchange="document.title = this.files[0].name; document.querySelector('#said').textContent = this.files[0].name"><p id=said></p>`,
	})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	for l, by := range map[string]string{"#button": act.ByChooser, "#in": act.ByInput} {
		u, err := giveFiles(t, s, css(l), act.UploadOptions{Wait: short * 20}, files...)
		if err != nil || u.Method != by {
			t.Errorf("%s: %+v %v", l, u, err)
		}
	}
}
