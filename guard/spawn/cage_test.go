package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"parley/internal/proc"
)

// TestMain lets the test binary play the child in a cage.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "caged" {
		caged(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// tries are what the child attempts.
type tries struct {
	Data, Given, Named, TCP, Environ, PID string
	Write                                 string
}

func caged(arg string) {
	var t tries
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		fmt.Println(err)
		return
	}
	did := map[string]bool{}
	try := func(name string, err error) { did[name] = err == nil }
	_, err := os.ReadFile(t.Data)
	try("read the data folder", err)
	_, err = os.ReadFile(t.Given)
	try("read what it was given", err)
	try("write where it may", os.WriteFile(t.Write, []byte("x"), 0o600))
	try("write elsewhere", os.WriteFile(t.Data+".new", []byte("x"), 0o600))
	c, err := net.Dial("tcp", t.TCP)
	try("reach the network", err)
	if err == nil {
		c.Close()
	}
	c, err = net.Dial("udp", t.TCP)
	try("send a datagram", err)
	if err == nil {
		c.Close()
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	try("make a private socket", err)
	if err == nil {
		unix.Close(fd)
	}
	_, err = os.ReadFile("/proc/" + t.PID + "/environ")
	try("read its parent's environment", err)
	try("leave its namespace", unix.Unshare(unix.CLONE_NEWUTS))
	did["environment"] = len(os.Environ()) == 0
	for _, e := range os.Environ() {
		did[e] = true
	}
	_ = json.NewEncoder(os.Stdout).Encode(did)
}

func attempt(t *testing.T, kind Kind, o Options, viaCmd bool) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"data", "given", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "f"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	arg, err := json.Marshal(tries{Data: filepath.Join(dir, "data", "f"), Given: filepath.Join(dir, "given", "f"), Write: filepath.Join(dir, "out", "new"), TCP: l.Addr().String(), PID: fmt.Sprint(os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	o.Read, o.Write = append(o.Read, filepath.Join(dir, "given")), append(o.Write, filepath.Join(dir, "out"))
	args := []string{"caged", string(arg)}
	if kind == Speech {
		args = append(args, "--run=x", "--models=x")
	}
	var out, errs bytes.Buffer
	env := []string{"PATH=/bin", "AWS_SECRET=canary", "PARLEY_TOKENS=me:canary", "LD_PRELOAD="}
	if viaCmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
		err = RunCmd(kind, cmd, o)
	} else {
		var c *proc.Child
		if c, err = Start(kind, proc.Spec{Path: os.Args[0], Args: args, Env: env, Stdout: &out, Stderr: &errs}, o); err == nil {
			<-c.Done()
			err = c.Err()
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	did := map[string]bool{}
	if err := json.Unmarshal(out.Bytes(), &did); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return did
}

func TestWhatACagedChildCannotDo(t *testing.T) {
	k := Kernel()
	if k.Landlock < 4 || !k.Seccomp {
		t.Fatalf("this kernel cannot hold what we promise: %+v", k)
	}
	always := map[string]bool{"read what it was given": true, "PATH=/bin": true}
	files := map[string]bool{"write where it may": true}
	network := []string{"reach the network", "send a datagram"}
	reach := []string{"read the data folder", "write elsewhere", "read its parent's environment"}
	for _, viaCmd := range []bool{false, true} {
		for kind, want := range map[Kind][]string{
			FFmpeg: nil, Espeak: nil, Speech: append([]string{"make a private socket"}, reach...), Worker: append(append([]string{"make a private socket", "leave its namespace"}, network...), reach...),
		} {
			if kind == Espeak {
				continue // as FFmpeg; its required flag is not the test child's
			}
			did := attempt(t, kind, Options{}, viaCmd)
			var got []string
			for what, yes := range did {
				if yes && !always[what] && !files[what] {
					got = append(got, what)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if os.Geteuid() != 0 && kind == Worker { // whether an ordinary user may is the machine's choice
				got = slices.DeleteFunc(got, func(s string) bool { return s == "leave its namespace" })
				want = slices.DeleteFunc(want, func(s string) bool { return s == "leave its namespace" })
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s (by exec %v) could %v, want %v", kind, viaCmd, got, want)
			}
			for what := range always {
				if !did[what] {
					t.Errorf("%s could not %s", kind, what)
				}
			}
		}
	}
	// Without the cage all of it works: the test can fail.
	did := attempt(t, FFmpeg, Options{Loose: true}, false)
	for _, what := range append(append([]string{}, network...), reach...) {
		if !did[what] {
			t.Errorf("without the cage it could not %s either", what)
		}
	}
}

func TestAPlanThatFailsDoesNotStart(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	for name, start := range map[string]func() error{
		"child": func() error {
			_, err := Start(FFmpeg, proc.Spec{Path: "/bin/sh", Args: []string{"-c", "touch " + marker, "http://h.test"}}, Options{Write: []string{filepath.Dir(marker)}})
			return err
		},
		"command": func() error {
			return StartCmd(FFmpeg, exec.Command("/bin/sh", "-c", "touch "+marker, "http://h.test"), Options{Write: []string{filepath.Dir(marker)}})
		},
	} {
		err := start()
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "http://h.test") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("%s: it ran all the same", name)
		}
	}
}

// TestOtherThreadsStayFree makes sure that a cage holds the child and not us.
func TestOtherThreadsStayFree(t *testing.T) {
	for range 8 {
		attempt(t, FFmpeg, Options{}, true)
	}
	done := make(chan error, 32)
	for range 32 {
		go func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				err = l.Close()
			}
			done <- err
		}()
	}
	for range 32 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
