package agents

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/guard/spawn"
	"parley/internal/proc"
)

// TaskKind is what a one-shot is for.
type TaskKind string

// The kinds of tasks.
const (
	// Question answers a question from a text.
	Question TaskKind = "question"
	// File reads one file and reports on it.
	File TaskKind = "file"
	// Captcha looks at one picture of a challenge that a person asked for.
	Captcha TaskKind = "captcha"
	// Steps turns a recorded trace into steps.
	Steps TaskKind = "steps"
)

// Task is a one-shot.
type Task struct {
	Kind   TaskKind
	Prompt string
	// System is the frame round it.
	System string
	// File is what a task of kind File or Captcha is handed.
	File []byte
}

// Runner starts one agent's program for tasks.
type Runner struct {
	Kind spawn.Kind
	Path string // of the program
	// Home holds the folders of all tasks; it is the service's own.
	Home string
	// Environ is what the program's environment is made of; nil: this process's.
	Environ []string
	Model   string
	// Limit of one task; zero: two minutes.
	Limit time.Duration
	// Hide is a folder that the program must not see, where the machine has bubblewrap.
	Hide string
	Log  *slog.Logger // nil: silent
}

// Grace is how long a program that was asked to end has.
const grace = 3 * time.Second

// maxAnswer bounds an answer, and maxLine one line of what a program prints.
const (
	maxAnswer = 256 << 10
	maxLine   = 4 << 20
	maxPrompt = 100 << 10 // of an argument, which the system bounds
)

// Do runs a task to its answer. The program is stopped as soon as the answer is there, when it shows a tool it was not
// given, at the limit, and when ctx ends; its folder goes with it, and so does the copy of a file.
func (r *Runner) Do(ctx context.Context, t Task) (answer string, err error) {
	log := r.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	limit := r.Limit
	if limit == 0 {
		limit = 2 * time.Minute
	}
	if err := os.MkdirAll(filepath.Join(r.Home, string(r.Kind)), 0o700); err != nil {
		return "", fmt.Errorf("a task's folder: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Join(r.Home, string(r.Kind)), "task-")
	if err != nil {
		return "", fmt.Errorf("a task's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := Want{Kind: r.Kind, Mode: spawn.Task, Home: r.Home, Dir: dir, Prompt: t.Prompt, System: t.System, Model: r.Model}
	if len(t.File) > 0 {
		_, ending, err := Screen(t.File)
		if err != nil {
			return "", err
		}
		name := filepath.Join(dir, "tmp", "file."+ending)
		if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, t.File, 0o600)); err != nil {
			return "", fmt.Errorf("a task's file: %w", err)
		}
		w.Reads = true
		w.Prompt += "\n\nThe file is " + filepath.Join("tmp", "file."+ending) + "."
	}
	m, err := Plan(w)
	if err != nil {
		return "", err
	}
	if m.Stdin == "" && len(whole(w)) > maxPrompt {
		return "", fmt.Errorf("this is too much for %s, which takes its task as an argument", r.Kind.Label())
	}
	if problems := spawn.Vet(m.Plan); problems != nil {
		return "", &spawn.RefusedError{Kind: r.Kind, Problems: problems}
	}
	for path, content := range m.Files {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			return "", fmt.Errorf("a task's folder: %w", err)
		}
	}
	class, note := r.Kind.Containment()
	environ := r.Environ
	if environ == nil {
		environ = os.Environ()
	}
	_, veil := spawn.FindVeil()
	log.InfoContext(ctx, "an agent's program starts", "veiled", r.Hide != "" && veil == nil, "program", string(r.Kind), "task", string(t.Kind), "class", string(class), "containment", note, "sealed", len(spawn.Sealed(r.Kind, environ)))
	env := spawn.Env(r.Kind, environ)
	for k, v := range m.Env {
		env = append(env, k+"="+v)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s gave no answer within %s", r.Kind.Label(), limit))
	defer cancel()
	return r.watch(ctx, w, m, env, log)
}

// watch starts the program and follows it to its answer.
func (r *Runner) watch(ctx context.Context, w Want, m Made, env []string, log *slog.Logger) (string, error) {
	out, stdout, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("a pipe: %w", err)
	}
	defer out.Close()
	path, args := spawn.Hidden(r.Path, m.Args, r.Hide, w.Dir)
	errs := &tail{}
	child, err := spawn.StartAgent(m.Plan, proc.Spec{Name: string(r.Kind), Path: path, Args: args, Env: env, Dir: w.Dir, Stdin: strings.NewReader(m.Stdin), Stdout: stdout, Stderr: errs})
	stdout.Close()
	if err != nil {
		return "", err
	}
	lines := make(chan []byte, 16)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		defer close(lines)
		b := bufio.NewReaderSize(io.LimitReader(out, 64<<20), 64<<10)
		for {
			l, err := b.ReadBytes('\n')
			if l = bytes.TrimSpace(l); len(l) > 0 && len(l) <= maxLine {
				select {
				case lines <- l:
				case <-quit:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	read := newReader(w)
	end := func(why error) (string, error) {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+5*time.Second)
		defer cancel()
		var unsafe *UnsafeError
		if errors.As(why, &unsafe) {
			child.Kill() // it gets no time to go on
			<-child.Done()
		} else if err := child.Stop(stop, grace); err != nil && !errors.Is(err, proc.ErrKilled) {
			log.ErrorContext(ctx, "an agent's program does not end", "program", string(r.Kind), "err", err)
		}
		if why != nil {
			return "", why
		}
		a := read.answer()
		if a == "" {
			return "", &FailedError{r.Kind.Label(), "no answer; " + errs.lastLine()}
		}
		if len(a) > maxAnswer {
			a = strings.ToValidUTF8(a[:maxAnswer], "")
		}
		return a, nil
	}
	for {
		select {
		case l, open := <-lines:
			if !open {
				return end(nil)
			}
			if err := read.take(l); err != nil {
				return end(err)
			}
			if read.done {
				return end(nil)
			}
		case <-ctx.Done():
			return end(context.Cause(ctx))
		}
	}
}

// tail keeps the end of what a program complains.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - 4096; n > 0 {
		t.b = t.b[n:]
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	s := strings.TrimSpace(string(t.b))
	return s[strings.LastIndexByte(s, '\n')+1:]
}
