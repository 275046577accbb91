package ogg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/testkit/need"
)

// TestMain lets the test binary play a worker that records until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("OGG_TEST_WORKER"); path != "" {
		r, err := Start(context.Background(), Options{Path: path})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(r.Began().UnixNano(), encoderOf(r))
		began := time.Now()
		for pos := int64(0); ; {
			time.Sleep(20 * time.Millisecond)
			n := int64(time.Since(began)/(time.Second/rate)) - pos
			f := counted(pos, 0, time.Now())
			f.PCM = steppingTone(pos, n)
			if err := r.Write(f); err != nil {
				os.Exit(1)
			}
			pos += n
		}
	}
	os.Exit(m.Run())
}

// kills is how many workers are killed: enough to see the distribution.
const kills = 24

func TestAKilledWorkerLosesLessThanASecond(t *testing.T) {
	need.Sound(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var losses []float64
	rng := rand.New(rand.NewPCG(7, 7))
	limit := make(chan bool, 4)
	var all sync.WaitGroup
	for i := range kills {
		path := filepath.Join(t.TempDir(), strconv.Itoa(i)+".ogg")
		life := time.Duration(2000+rng.IntN(2500)) * time.Millisecond
		all.Go(func() {
			limit <- true
			defer func() { <-limit }()
			loss, err := killed(self, path, life)
			mu.Lock()
			defer mu.Unlock()
			losses = append(losses, loss)
			switch {
			case need.Overloaded(t):
				t.Logf("worker %d, killed after %v: %.2f s lost, %v", i, life, loss, err)
			case err != nil:
				t.Errorf("worker %d: %v", i, err)
			case loss > 1:
				t.Errorf("worker %d, killed after %v: %.2f s lost", i, life, loss)
			}
		})
	}
	all.Wait()
	slices.Sort(losses)
	t.Logf("%d kills: lost p50 %.2f s, p95 %.2f s, most %.2f s", len(losses), losses[len(losses)/2], losses[len(losses)*95/100], losses[len(losses)-1])
}

// killed lets a worker live that long, kills it, and tells how many seconds of its recording cannot be played.
func killed(self, path string, life time.Duration) (float64, error) {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "OGG_TEST_WORKER="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var began int64
	var encoder int
	if err == nil {
		_, err = fmt.Sscan(strings.TrimSpace(line), &began, &encoder)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("the worker says %q: %w", line, err), cmd.Process.Kill(), cmd.Wait())
	}
	born, err := proc.StartTime(encoder)
	if err != nil {
		return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	time.Sleep(life)
	end := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err == nil {
		return 0, errors.New("the worker ended by itself")
	}
	for late := time.Now().Add(5 * time.Second); proc.Alive(encoder, born); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			return 0, errors.New("the encoder outlives its worker")
		}
	}
	info, err := Info(path)
	if err != nil {
		return 0, err
	}
	// What the keeper does afterwards must not lose more.
	joined, err := Join(path)
	if err != nil || joined.Samples != info.Samples {
		return 0, fmt.Errorf("joined: %+v (%w)", joined, err)
	}
	return end.Sub(time.Unix(0, began)).Seconds() - info.Seconds, nil
}

func TestAStormOfKilledEncodersLosesNothing(t *testing.T) {
	need.Sound(t)
	const recorders, each = 6, 4
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range recorders {
		pauses := make([]time.Duration, each)
		for k := range pauses {
			pauses[k] = time.Duration(300+rng.IntN(2500)) * time.Millisecond
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "m.ogg")
			r := record(t, Options{Path: path})
			pace(t, r)
			for _, pause := range pauses {
				time.Sleep(pause)
				if pid := encoderOf(r); pid != 0 {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
						t.Fatal(err)
					}
				}
			}
			time.Sleep(time.Second)
			offset, _ := r.Sample(0)
			wall := time.Since(r.Began()).Seconds()
			res := stop(t, r)
			if res.Lost != 0 || math.Abs(res.Seconds-wall) > 0.5 {
				t.Errorf("%+v after %.2f s", res, wall)
			}
			check(t, path, offset, 1+each)
		})
	}
}

// A full disk is made of a file system of a megabyte, where the machine lets us; the encoder's complaint is played otherwise.
func TestAFullDiskIsSaidAndSurvived(t *testing.T) {
	need.Sound(t)
	dir := t.TempDir()
	if err := syscall.Mount("parley-test", dir, "tmpfs", 0, "size=1200k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "m.ogg")
	r := record(t, Options{Path: path})
	pace(t, r)
	time.Sleep(1500 * time.Millisecond)
	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	_ = f.Close()
	deadline := time.After(10 * time.Second)
	select {
	case fault := <-r.Faults():
		if fault.Kind != FaultDisk || !errors.Is(fault.Err, ErrDiskFull) {
			t.Errorf("fault %+v", fault)
		}
	case <-deadline:
		t.Fatal("no fault on a full disk")
	}
	if _, err := Start(t.Context(), Options{Path: filepath.Join(dir, "other.ogg")}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a new recording on a full disk: %v", err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	was := time.Now()
	for encoderOf(r) == 0 {
		if time.Since(was) > 10*time.Second {
			t.Fatal("no encoder after space came back")
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second)
	offset, _ := r.Sample(0)
	res := stop(t, r)
	if res.Lost != 0 {
		t.Errorf("%+v", res)
	}
	check(t, path, offset, 2+res.Parts)
}
