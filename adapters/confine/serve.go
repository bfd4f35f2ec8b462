package confine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

// Job is something that a child can be started for.
type Job struct {
	// Do does the job. The result is the answer, as JSON.
	Do func(ctx context.Context, input json.RawMessage) (any, error)
	// Stream is Do for Runner.Stream. It passes each part of its answer to emit as soon as it is known: bytes as they
	// are, everything else as JSON. nil: the job cannot be streamed.
	Stream func(ctx context.Context, input json.RawMessage, emit func(part any) error) error
	// Needs returns what the job needs for an input. nil: neither files nor a network.
	Needs func(input json.RawMessage) ports.JobNeeds
	// Warm does what takes longer the first time, in a child that waits for a job. nil: nothing.
	Warm func()
}

// A child's exit codes. Go's runtime exits with 2 on a fatal error, mostly out of memory, since a job's panics are
// caught.
const (
	exitFailed  = 3
	exitRuntime = 2
)

// maxRequest bounds what a child reads.
const maxRequest = 1 << 20

const (
	gcPercent = 100      // how much garbage a job may have, in percent of what it uses
	room      = 32 << 20 // bytes between the collector's limit and the kernel's
)

// ack is the first byte that a child writes: it has read its whole request and starts the job. A child that ends
// without it has started nothing, so that another child can do the job.
const ack = '+'

// Serve is a child's main function. It reads the request from standard input, restricts itself to its limits and the
// job's needs, does the job, and writes the answer to standard output. It returns the process's exit code. If the input
// is empty, the parent has ended.
func Serve(jobs map[string]Job, in *os.File, out io.Writer) (code int) {
	if err := prepare(); err != nil {
		return exitFailed
	}
	if !readable(in) {
		warm(jobs)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRequest))
	if err != nil || len(text) == 0 {
		return 0
	}
	if _, err := out.Write([]byte{ack}); err != nil {
		return exitFailed
	}
	var o jobRequest
	if err := json.Unmarshal(text, &o); err != nil {
		return exitFailed
	}
	job, ok := jobs[o.Job]
	if !ok {
		return exitFailed
	}
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) // before the filter refuses it
	defer stop()
	var needs ports.JobNeeds
	if job.Needs != nil {
		needs = job.Needs(o.Input)
	}
	if err := bind(o.Limits, needs); err != nil {
		return exitFailed
	}
	// The kernel counts what the heap once was, not what is in use. So garbage is collected as soon as it is as much
	// as what is in use, not when there is four times as much, which is better for the server. Near the limit it is
	// collected still more often: the kernel would end the process.
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(runtimeTables() + max(o.Limits.Memory/2, o.Limits.Memory-room))
	ctx, cancel := context.WithTimeout(running, o.Within)
	defer cancel()
	if o.Stream {
		if stream(ctx, job, o.Input, out) != nil {
			return exitFailed
		}
		return 0
	}
	answer, err := do(ctx, job, o.Input)
	if err != nil {
		return exitFailed
	}
	if _, err := out.Write(framed(answer)); err != nil {
		return exitFailed
	}
	return 0
}

// runtimeTables returns how much memory Go's runtime counts that is not of the heap. Little of it is used.
func runtimeTables() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapSys) //nolint:gosec // some 40 MB
}

// warm prepares a child that was started ahead. The code and the memory that it has used are then mapped, and the
// memory is free.
func warm(jobs map[string]Job) {
	for _, job := range jobs {
		if job.Warm != nil {
			job.Warm()
		}
	}
	runtime.GC()
}

func do(ctx context.Context, job Job, input json.RawMessage) (answer []byte, err error) {
	defer func() {
		if recover() != nil { // the panic value may hold the tenant's data
			err = errors.New("the job panicked")
		}
	}()
	result, err := job.Do(ctx, input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// exitError returns the error for a child that gave no answer.
func exitError(state *os.ProcessState, limits Limits) error {
	if state.UserTime()+state.SystemTime() >= time.Duration(limits.CPU)*time.Second {
		return ports.ErrJobTimeout // SIGXCPU: Go exits with the same code as when it runs out of memory
	}
	if state.ExitCode() == exitRuntime {
		return ports.ErrJobOutOfMemory
	}
	return ports.ErrJobCrashed
}
