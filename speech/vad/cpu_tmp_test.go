//go:build cgo

package vad

import (
	"syscall"
	"testing"
	"time"

	"parley/speech/models"
	"parley/speech/ort"
	"parley/testkit/need"
)

func cpuNow() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
func TestCPU(t *testing.T) {
	p := models.At(need.Models(t))
	ort.Init(p.Runtime)
	for range 2 {
		for _, f := range []string{p.VAD, "/tmp/vm/silero/silero_vad/data/silero_vad_16k_op15.onnx", "/tmp/vm/silero/silero_vad/data/silero_vad_op18_ifless.onnx", "/tmp/vm/silero/silero_vad/data/silero_vad_half.onnx"} {
			m, err := Load(f)
			if err != nil {
				t.Log(f, err)
				continue
			}
			s := m.Stream()
			pcm := make([]int16, Frame)
			a := cpuNow()
			for range 300 {
				s.Prob(t.Context(), pcm)
			}
			b := cpuNow()
			for range 150 {
				s.Prob(t.Context(), pcm)
				time.Sleep(30 * time.Millisecond)
			}
			c := cpuNow()
			for range 75 {
				s.Prob(t.Context(), pcm)
				s.Prob(t.Context(), pcm)
				time.Sleep(60 * time.Millisecond)
			}
			d := cpuNow()
			t.Logf("hot %v, with pauses %v, in twos %v %s", (b-a)/300, (c-b)/150, (d-c)/150, f[len(f)-20:])
			m.Close()
		}
	}
}
