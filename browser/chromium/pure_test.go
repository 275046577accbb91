package chromium

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	count := func(f []string, prefix string) (n int) {
		for _, a := range f {
			if strings.HasPrefix(a, prefix) {
				n++
			}
		}
		return n
	}
	plain := flags(withDefaults(Options{}), "/p")
	for _, never := range []string{"--no-sandbox", "--disable-site-isolation", "--disable-web-security", "--ignore-certificate-errors",
		"--remote-debugging-port", "--enable-automation", "--disable-popup-blocking", "--allow-loopback", "--unsafely", "--mute-audio",
		"--proxy", "--headless", "--disable-hang-monitor"} {
		if count(plain, never) != 0 {
			t.Errorf("%s is on", never)
		}
	}
	for _, once := range []string{"--disable-features=", "--user-data-dir=/p", "--remote-debugging-pipe", "--lang=en-US", "--window-size=1280,720"} {
		if count(plain, once) != 1 {
			t.Errorf("%s stands %d times", once, count(plain, once))
		}
	}
	if inside := flags(withDefaults(Options{FramesInside: true}), "/p"); count(inside, "--disable-features=") != 1 || !strings.Contains(strings.Join(inside, " "), ",IsolateSandboxedIframes") {
		t.Error("sandboxed frames have processes of their own")
	}
	full := flags(withDefaults(Options{NoSandbox: true, Headless: true, Loopback: true, Proxy: "http://127.0.0.1:3128", TrustOrigins: []string{"http://a:1", "http://b:2"}}), "/p")
	for _, want := range []string{"--no-sandbox", "--headless=new", "--allow-loopback-in-peer-connection", "--proxy-server=http://127.0.0.1:3128",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--proxy-bypass-list=<-loopback>", "--unsafely-treat-insecure-origin-as-secure=http://a:1,http://b:2"} {
		if !slices.Contains(full, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		stderr string
		want   Reason
	}{
		{"", Exited},
		{"[1:2:ERROR] something else", Exited},
		{"[1:2:ERROR:zygote_host_impl_linux.cc(100)] Running as root without --no-sandbox is not supported.", RootNoAccount},
		{"[FATAL] No usable sandbox! You probably need", NoSandboxUsable},
		{"[FATAL] The SUID sandbox helper binary was found, but is not configured correctly. mode 4755.", NoSandboxUsable},
		{"The setuid sandbox is not running as root.", NoSandboxUsable},
		{"noise\nMissing X server or $DISPLAY\nThe platform failed to initialize. Exiting.", NoDisplay},
		{"Failed to create a ProcessSingleton for your profile directory.", ProfileInUse},
	} {
		got := diagnose(c.stderr, errors.New("exit status 1"))
		if got.Reason != c.want || got.Remedy() == "" {
			t.Errorf("%q: %s", c.stderr, got.Reason)
		}
	}
}

func TestParseSandbox(t *testing.T) {
	on := "Sandbox Status\nLayer 1 Sandbox\tNamespace\nPID namespaces\tYes\nNetwork namespaces\tYes\nSeccomp-BPF sandbox\tYes\nSeccomp-BPF sandbox supports TSYNC\tYes\nPtrace Protection with Yama LSM (Broker)\tNo\n\nYou are adequately sandboxed.\n"
	if s := parseSandbox(on); s != (Sandbox{Layer: "Namespace", PID: true, Network: true, SeccompBPF: true, Adequate: true}) {
		t.Errorf("on: %+v", s)
	}
	off := "Layer 1 Sandbox\tNone\nPID namespaces\tNo\nSeccomp-BPF sandbox\tNo\nYou are NOT adequately sandboxed!\n"
	if s := parseSandbox(off); s != (Sandbox{Layer: "None"}) {
		t.Errorf("off: %+v", s)
	}
	if s := parseSandbox("something else"); s.Adequate {
		t.Errorf("unknown text: %+v", s)
	}
}

func TestPipeFrames(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	big := `{"id":2,"x":"` + strings.Repeat("a", 300<<10) + `"}`
	go func() {
		defer w.Close()
		w.WriteString("{\"id\":1}\x00" + big + "\x00{} trailing\x00")
	}()
	p := newPipe(r, w)
	defer r.Close()
	for _, want := range []string{`{"id":1}`, big} {
		got, err := p.Read()
		if err != nil || string(got) != want {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := p.Read(); err == nil {
		t.Error("what is not JSON was let through")
	}
}

func TestPipeSendEndsWithTheReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := newPipe(r, w)
	if err := p.Send([]byte(`{"id":1}`)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, err := r.Read(buf)
	if err != nil || !bytes.Equal(buf[:n], []byte("{\"id\":1}\x00")) {
		t.Errorf("%q %v", buf[:n], err)
	}
	r.Close()
	if err := p.Send([]byte(`{}`)); err == nil {
		t.Error("nobody reads, no error")
	}
	if err := p.Send([]byte(`{}`)); err == nil {
		t.Error("a broken pipe was used again")
	}
}

func FuzzParseSandbox(f *testing.F) {
	f.Add("Layer 1 Sandbox\tSUID\nYou are adequately sandboxed.")
	f.Fuzz(func(t *testing.T, text string) { parseSandbox(text) })
}
