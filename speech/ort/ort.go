//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"
	"golang.org/x/sys/cpu"
)

// ErrOtherRuntime means that the process already runs another library file than the one asked for.
var ErrOtherRuntime = errors.New("ort: another ONNX Runtime library is loaded already")

var env struct {
	sync.Mutex
	path string
}

// Init loads the library and makes the environment, once a process; later calls with the same file do nothing.
// The environment lives as long as the process: sessions of several packages hang on it and it costs nothing.
func Init(runtimePath string) error {
	path, err := filepath.Abs(runtimePath)
	if err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	env.Lock()
	defer env.Unlock()
	if env.path != "" {
		if env.path != path {
			return fmt.Errorf("%w: %s, not %s", ErrOtherRuntime, env.path, path)
		}
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("ort: no ONNX Runtime library (parley models fetch brings it): %w", err)
	}
	// The library as it comes reports its use to its maker and keeps an identity of the machine for that in the
	// user's cache folder. Nothing leaves this machine: it is told not to before it starts, and once more when it runs.
	if err := os.Setenv(noTelemetry, "1"); err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	onnx.SetSharedLibraryPath(path)
	if err := onnx.InitializeEnvironment(); err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	if err := onnx.DisableTelemetry(); err != nil {
		return fmt.Errorf("ort: %w", errors.Join(err, onnx.DestroyEnvironment()))
	}
	env.path = path
	return nil
}

// noTelemetry is the library's own switch.
const noTelemetry = "ORT_DISABLE_TELEMETRY"

// Options of a session; the zero value is one thread.
type Options struct {
	// Threads one call may use; zero means one. On the machines we aim at, streams in parallel gain more.
	Threads int
	// NoArena gives memory back after each call instead of keeping it: for models that run seldom.
	NoArena bool
}

// Session is a loaded model. Run may be called from several goroutines at once; Close not before all have returned.
type Session struct {
	s    *onnx.DynamicAdvancedSession
	outs int
}

// Open loads the model of a file. Init must have been called.
func Open(path string, inputs, outputs []string, o Options) (*Session, error) {
	if !onnx.IsInitialized() {
		return nil, errors.New("ort: Init was not called")
	}
	so, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	defer so.Destroy()
	threads := max(o.Threads, 1)
	// A spinning pool would burn a core between calls; with one thread there is no pool at all.
	err = errors.Join(
		so.SetIntraOpNumThreads(threads),
		so.SetInterOpNumThreads(1),
		so.SetExecutionMode(onnx.ExecutionModeSequential),
		so.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		so.SetCpuMemArena(!o.NoArena),
		// A plan is kept for every combination of input shapes that was ever seen: with sound of any length that
		// would be a leak.
		so.SetMemPattern(false),
	)
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	if exactProducts() {
		if err := so.AddSessionConfigEntry("session.x64quantprecision", "1"); err != nil {
			return nil, fmt.Errorf("ort: %w", err)
		}
	}
	s, err := onnx.NewDynamicAdvancedSession(path, inputs, outputs, so)
	if err != nil {
		return nil, fmt.Errorf("ort: %s: %w", filepath.Base(path), err)
	}
	return &Session{s: s, outs: len(outputs)}, nil
}

// Run feeds the inputs in the order given to Open. The outputs are new values that the caller must Free, also when
// they go in again later. When ctx ends, the call is broken off between two operators.
func (s *Session) Run(ctx context.Context, inputs ...onnx.Value) ([]onnx.Value, error) {
	outputs := make([]onnx.Value, s.outs)
	if err := s.RunInto(ctx, inputs, outputs); err != nil {
		return nil, err
	}
	return outputs, nil
}

// RunInto is Run with values for the results: those given must have the right shape, those that are nil are made.
// After an error the latter are nil again.
func (s *Session) RunInto(ctx context.Context, inputs, outputs []onnx.Value) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ro, err := onnx.NewRunOptions()
	if err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	defer ro.Destroy()
	// The terminating call must be over before the options are freed, so wait for it when it has begun.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = ro.Terminate() // it can only fail on freed options
	})
	given := append([]onnx.Value(nil), outputs...)
	err = s.s.RunWithOptions(inputs, outputs, ro)
	if !stop() {
		<-ended
	}
	if err != nil {
		for i, v := range outputs {
			if given[i] == nil {
				Free(v)
				outputs[i] = nil
			}
		}
		if cause := ctx.Err(); cause != nil {
			return cause
		}
		return fmt.Errorf("ort: %w", err)
	}
	return nil
}

// Close frees the model.
func (s *Session) Close() error {
	if s.s == nil {
		return nil
	}
	err := s.s.Destroy()
	s.s = nil
	return err
}

// Free destroys values and ignores absent ones.
func Free(values ...onnx.Value) {
	for _, v := range values {
		if v != nil {
			_ = v.Destroy() // always nil for tensors
		}
	}
}

// Tensor wraps data without copying it: data must not change or move until the tensor is freed.
func Tensor[T onnx.TensorData](data []T, shape ...int64) (*onnx.Tensor[T], error) {
	t, err := onnx.NewTensor(onnx.NewShape(shape...), data)
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	return t, nil
}

// Floats gives the numbers of a float32 output; they die with the value.
func Floats(v onnx.Value) ([]float32, []int64, error) {
	t, ok := v.(*onnx.Tensor[float32])
	if !ok {
		return nil, nil, fmt.Errorf("ort: %T is not a float32 tensor", v)
	}
	return t.GetData(), t.GetShape(), nil
}

// exactProducts tells whether the processor multiplies 8-bit weights in pairs that can overflow: those without dot
// products of their own. The runtime can then be asked for a slower, exact way.
func exactProducts() bool {
	return runtime.GOARCH == "amd64" && !cpu.X86.HasAVX512VNNI && !cpu.X86.HasAVXVNNI
}
