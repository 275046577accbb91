package pulse

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"parley/audio"
	"parley/testkit/need"
)

// echo is a page that answers 1000 Hz in its microphone with 2000 Hz on its speakers.
const echo = `<script>
const c = new AudioContext(), o = c.createOscillator(), g = c.createGain()
o.frequency.value = 2000; g.gain.value = 0; o.connect(g).connect(c.destination); o.start()
navigator.mediaDevices.getUserMedia({audio: {echoCancellation: false, noiseSuppression: false, autoGainControl: false}}).then(s => {
  const a = c.createAnalyser(), d = new Float32Array(512)
  a.fftSize = 1024; a.smoothingTimeConstant = 0
  c.createMediaStreamSource(s).connect(a)
  setInterval(() => {
    a.getFloatFrequencyData(d)
    g.gain.value = d[Math.round(1000 * a.fftSize / c.sampleRate)] > -50 ? 0.3 : 0
  }, 5)
})
</script>`

// TestARealBrowserHearsAndIsHeard goes round through a browser: what we say is in the page's microphone, and what the
// page plays is what we hear.
func TestARealBrowserHearsAndIsHeard(t *testing.T) {
	need.Sound(t)
	need.Browser(t)
	s := start(t)
	c := capture(t, s, CaptureOptions{Latency: 10 * time.Millisecond})
	p := player(t, s, PlayerOptions{})

	dir, err := os.MkdirTemp("", "parley-echo-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // after the browser is gone
	page := filepath.Join(dir, "echo.html")
	if err := os.WriteFile(page, []byte(echo), 0o600); err != nil {
		t.Fatal(err)
	}
	program := "/usr/lib/chromium/chromium"
	if _, err := os.Stat(program); err != nil {
		program = "/usr/bin/chromium"
	}
	args := []string{
		"--headless=new", "--disable-gpu", "--no-first-run", "--autoplay-policy=no-user-gesture-required",
		"--use-fake-ui-for-media-stream", "--user-data-dir=" + filepath.Join(dir, "profile"), "file://" + page,
	}
	if os.Getuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // our own page, in a test
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), s.Env()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()

	// The page's streams come in their own time.
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		found, err := s.CheckStreams(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Problems) > 0 {
			t.Errorf("problems: %v", kinds(found.Problems))
		}
		if len(found.Playing) > 0 && len(found.Recording) > 0 {
			if found.Playing[0].Device != OutSink || found.Recording[0].Device != MicSource {
				t.Errorf("%+v", found)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the browser has not opened its streams: %+v", found)
		}
	}
	var rounds []time.Duration
	for len(rounds) < 8 {
		if err := listen(t.Context(), c, 700*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		a := play(t, p, Samples(Tone(1000, -20, 400*time.Millisecond)))
		var pcm []int16
		heard, err := until(t.Context(), c, func(f []int16) bool {
			pcm = append(pcm, f...)
			for len(pcm) >= audio.HearRate/50 {
				if pitch(pcm[:audio.HearRate/50], 2000) > -30 {
					return true
				}
				pcm = pcm[audio.HearRate/50:]
			}
			return false
		})
		if err != nil {
			t.Fatalf("round %d: %v", len(rounds)+1, err)
		}
		<-a.Done()
		rounds = append(rounds, heard.Sub(at))
	}
	slices.Sort(rounds)
	t.Logf("said → answered by the page → heard: p50 %v, most %v", rounds[len(rounds)/2], rounds[len(rounds)-1])
}
