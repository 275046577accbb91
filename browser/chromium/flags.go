package chromium

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// disabledFeatures are gathered in one flag: only the last --disable-features of a command line counts.
// Each talks to its maker's servers behind our back, puts a window of its own in the way, or keeps pages of the
// browser's own window loaded that nobody sees: those of the address bar's popups alone take 90 MB.
var disabledFeatures = []string{
	"AutofillServerCommunication",
	"CertificateTransparencyComponentUpdater",
	"DialMediaRouteProvider",
	"GlobalMediaControls",
	"HttpsUpgrades", // an upgrade that fails costs seconds on a room's plain address
	"MediaRouter",
	"NetworkTimeServiceQuerying",
	"OmniboxAimPopup",
	"OptimizationHints",
	"PreloadTopChromeWebUI",
	"Translate",
	"WebUIOmniboxAimPopup",
	"WebUIOmniboxFullPopup",
	"WebUIOmniboxPopup",
}

// nowhere is an address at which nobody listens: the port for discarding.
const nowhere = "http://127.0.0.1:9/"

// flags is the whole command line. Site isolation, the popup blocker and the sandbox stay on.
//
// Left out on purpose: --disable-crashpad-for-testing saves two processes and kills the network service with them (every
// navigation then ends with ERR_ABORTED); --enable-automation shows a bar; --disable-hang-monitor hides what we want to see.
func flags(o Options, profile string) []string {
	features := disabledFeatures
	if o.FramesInside {
		features = append(slices.Clone(features), "IsolateSandboxedIframes")
	}
	f := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + profile,
		"--no-startup-window",
		"--no-first-run",
		"--no-default-browser-check",
		"--no-pings",
		"--disable-background-networking",
		"--disable-breakpad",
		"--disable-component-update",
		"--disable-default-apps",
		"--disable-domain-reliability",
		"--disable-extensions",
		"--disable-gpu",
		"--disable-quic",
		"--disable-search-engine-choice-screen",
		"--disable-sync",
		"--metrics-recording-only",
		"--password-store=basic",
		// A meeting's page lives in a window nobody looks at: it must run as if somebody did.
		"--autoplay-policy=no-user-gesture-required",
		"--disable-background-timer-throttling",
		"--disable-renderer-backgrounding",
		"--disable-backgrounding-occluded-windows",
		"--disable-features=" + strings.Join(features, ","),
		"--lang=" + o.Language,
		fmt.Sprintf("--window-size=%d,%d", o.Width, o.Height),
		"--window-position=0,0",
		// The browser's own business with its maker, whatever page is open: accounts, updates. The switches above do
		// not reach it. Pages of the same hosts are not affected.
		"--gaia-url=" + nowhere,
		"--apps-gallery-update-url=" + nowhere,
		"--component-updater=url-source=" + nowhere,
	}
	if o.Headless {
		f = append(f, "--headless=new")
	}
	if o.NoSandbox {
		f = append(f, "--no-sandbox", "--test-type") // the second takes the warning bar away
	}
	if o.Loopback {
		f = append(f, "--allow-loopback-in-peer-connection")
	}
	if len(o.TrustOrigins) > 0 {
		f = append(f, "--unsafely-treat-insecure-origin-as-secure="+strings.Join(o.TrustOrigins, ","))
	}
	if o.Proxy != "" {
		f = append(f, proxyFlags(o.Proxy)...)
	}
	if smallSharedMemory() {
		f = append(f, "--disable-dev-shm-usage")
	}
	return f
}

// waived are flags that nobody would be let start with, but for the operator's own setting.
func waived(o Options) []string {
	if o.NoSandbox {
		return []string{"--no-sandbox"}
	}
	return nil
}

// proxyFlags keep everything inside the proxy: loopback addresses too, no name is resolved beside it, and
// WebRTC may not go round it (the preference of the same name does nothing; the switch does).
func proxyFlags(proxy string) []string {
	host := proxy
	if u, err := url.Parse(proxy); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return []string{
		"--proxy-server=" + proxy,
		"--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE " + host,
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
}

// smallSharedMemory says whether /dev/shm is too small for renderers, as in containers with 64 MB.
func smallSharedMemory() bool {
	var s unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &s); err != nil {
		return true
	}
	return s.Blocks*uint64(s.Bsize) < 256<<20
}

// programs are where the browser itself lies; the wrappers in /usr/bin add flags of their own.
var programs = []string{"/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome"}

// program finds the browser: the setting, or the first that exists.
func program(setting string) (string, error) {
	candidates := programs
	if setting != "" {
		candidates = []string{setting}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &StartError{Reason: NotInstalled, Detail: "no browser at " + strings.Join(candidates, ", ")}
}
