package confine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	childMode  = "a-child"
	parentMode = "a-parent" // starts a child that waits, prints its pid, and waits to be killed
)

// kept is what the jobs below make live.
var kept [][]byte

// jobs need neither files nor a network.
var jobs = map[string]func(context.Context, json.RawMessage) (any, error){
	"echo": func(_ context.Context, in json.RawMessage) (any, error) { return in, nil },
	"pid":  func(context.Context, json.RawMessage) (any, error) { return os.Getpid(), nil },
	"around": func(context.Context, json.RawMessage) (any, error) {
		_, err := os.Getwd()
		isGone := errors.Is(err, os.ErrNotExist)
		isNew := os.Mkdir("folder", 0o700) == nil
		var open []string
		for fd := range 32 {
			if target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil {
				open = append(open, target)
			}
		}
		return map[string]any{"env": os.Environ(), "gone": isGone, "made": isNew, "open": open}, nil
	},
	"write": func(context.Context, json.RawMessage) (any, error) {
		f, err := os.CreateTemp("/tmp", "confine-test-") // /tmp, since its own folder is not writable
		if err != nil {
			return err.Error(), nil
		}
		defer os.Remove(f.Name())
		defer f.Close()
		if _, err := f.WriteString("x"); err != nil {
			return err.Error(), nil
		}
		return "written", nil
	},
	"memory": func(context.Context, json.RawMessage) (any, error) {
		for range 1 << 10 {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			kept = append(kept, b)
		}
		return len(kept), nil
	},
	"open": func(context.Context, json.RawMessage) (any, error) {
		for n := range 1000 {
			if _, err := syscall.Dup(1); err != nil {
				return n, nil
			}
		}
		return 1000, nil
	},
	"burn": func(context.Context, json.RawMessage) (any, error) {
		for n := 0; ; n++ {
			kept = kept[:0]
		}
	},
	"wait": func(ctx context.Context, _ json.RawMessage) (any, error) { select {} },
	"obey": func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return ctx.Err().Error(), nil
	},
	"answer": func(context.Context, json.RawMessage) (any, error) { return strings.Repeat("x", 3<<20), nil },
	"panic":  func(context.Context, json.RawMessage) (any, error) { panic("c4n4ry") },
	"fail":   func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("c4n4ry") },
	"exit":   func(context.Context, json.RawMessage) (any, error) { os.Exit(0); return nil, nil },
	"deep":   func(context.Context, json.RawMessage) (any, error) { return deep(0), nil },
	"garbage": func(context.Context, json.RawMessage) (any, error) {
		fmt.Print("\x00\x00\x00\x07c4n4ry{")
		return 1, nil
	},
	"stray": func(context.Context, json.RawMessage) (any, error) { fmt.Print("c4n4ry{"); return 1, nil },
	"short": func(context.Context, json.RawMessage) (any, error) { fmt.Print("\x00\x00\x00\x09c"); return 1, nil },
}

// served is what a child of this test serves.
func served() map[string]confine.Job {
	all := map[string]confine.Job{}
	for name, do := range jobs {
		all[name] = confine.Job{Do: do}
	}
	for name, stream := range streams {
		all[name] = confine.Job{Stream: stream}
	}
	maps.Copy(all, hostileJobs())
	var isWarmed bool
	all["is warm"] = confine.Job{
		Do:   func(context.Context, json.RawMessage) (any, error) { return isWarmed, nil },
		Warm: func() { isWarmed = true },
	}
	return all
}

func deep(n int) int { return deep(n+1) + 1 } //nolint:staticcheck // it is to end by the limit

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case childMode:
			os.Exit(confine.Serve(served(), os.Stdin, os.Stdout))
		case serverMode:
			server(os.Args[2:])
			return
		case parentMode:
			r, err := confine.New(confine.DefaultLimits(), 1, os.Args[0], childMode)
			if err != nil {
				panic(err)
			}
			go func() { panic(r.Run(context.Background(), "wsp_1", "wait", time.Hour, 1, new(any))) }()
			fmt.Println("started")
			select {}
		}
	}
	var remove func()
	program, remove = fixture.Unraced()
	code := fixture.WithoutLeaks(m.Run())
	remove()
	os.Exit(code)
}

// program is this test binary, without the race detector, under which memory is not limited.
var program string

func runner(t testing.TB, limits confine.Limits) *confine.Runner {
	t.Helper()
	r, err := confine.New(limits, 4, program, childMode)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, r.Close())
	})
	return r
}

func TestRun(t *testing.T) {
	t.Setenv("PGPASSWORD", "c4n4ry")
	r := runner(t, confine.Limits{Memory: 128 << 20, CPU: 1, Files: 32})
	run := func(t *testing.T, job string, limit time.Duration, out any) error {
		t.Helper()
		err := r.Run(t.Context(), "wsp_1", job, limit, map[string]string{"a": "b"}, out)
		if err != nil && strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("the error tells what was in the child: %v", err)
		}
		return err
	}

	t.Run("a child answers, and the next job has another", func(t *testing.T) {
		pids := map[int]bool{}
		for range 3 {
			var pid int
			require.NoError(t, run(t, "pid", time.Hour, &pid))
			pids[pid] = true
		}
		if len(pids) != 3 || pids[os.Getpid()] {
			t.Errorf("pids = %v", pids)
		}
	})

	t.Run("a job gets its input, of any size", func(t *testing.T) {
		var out string
		in := strings.Repeat("é", 200_000)
		if err := r.Run(t.Context(), "wsp_1", "echo", time.Hour, in, &out); err != nil || out != in {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})

	t.Run("no environment of ours, no folder to write to, and nothing open but the pipes", func(t *testing.T) {
		var out struct {
			Env  []string
			Gone bool
			Made bool
			Open []string
		}
		require.NoError(t, run(t, "around", time.Hour, &out))
		if len(out.Env) > 0 || !out.Gone || out.Made {
			t.Errorf("%+v", out)
		}
		for _, value := range out.Open {
			if !strings.HasPrefix(value, "pipe:") && !strings.HasPrefix(value, "anon_inode:") && value != "/dev/null" &&
				value != "" && !strings.HasPrefix(value, "/proc/") &&
				!strings.HasPrefix(value, "/sys/fs/cgroup/") { // the runtime reads how many processors it may use
				t.Errorf("it has %s open", value)
			}
		}
	})

	t.Run("nothing can be written to a file", func(t *testing.T) {
		var out string
		if err := run(t, "write", time.Hour, &out); err == nil && out == "written" {
			t.Error("it was")
		}
	})

	t.Run("no more files than allowed are open at a time", func(t *testing.T) {
		var n int
		if err := run(t, "open", time.Hour, &n); err != nil || n >= 32 || n == 0 {
			t.Errorf("%d files, %v", n, err)
		}
	})

	t.Run("a job sees its deadline, and can answer then", func(t *testing.T) {
		var out string
		err := run(t, "obey", 50*time.Millisecond, &out)
		// On a busy machine, a child may not start, see its deadline and answer before it is killed.
		for start := time.Now(); errors.Is(err, ports.ErrJobTimeout) && time.Since(start) < proof.Patience; {
			err = run(t, "obey", 50*time.Millisecond, &out)
		}
		if err != nil || out != context.DeadlineExceeded.Error() {
			t.Errorf("%q, %v", out, err)
		}
	})

	for name, tt := range map[string]struct {
		job    string
		within time.Duration // an hour unless the job is to outlive it: a busy machine needs time
		want   error
		most   time.Duration
	}{
		"who takes too much memory is ended":           {"memory", time.Hour, ports.ErrJobOutOfMemory, 9 * time.Minute},
		"who calls itself for ever is ended":           {"deep", time.Hour, ports.ErrJobOutOfMemory, 9 * time.Minute},
		"who takes too much of the processor is ended": {"burn", time.Hour, ports.ErrJobTimeout, 9 * time.Minute},
		"who outlives its deadline is killed": {"wait", 50 * time.Millisecond, ports.ErrJobTimeout,
			3 * time.Second},
		"an answer that is too large is not read":  {"answer", time.Hour, ports.ErrJobTooLarge, 3 * time.Second},
		"a panic is told apart and tells nothing":  {"panic", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
		"an error tells nothing":                   {"fail", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
		"an end without an answer is a crash":      {"exit", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
		"an answer that is no JSON is a crash":     {"garbage", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
		"an answer without its length is not read": {"stray", time.Hour, ports.ErrJobTooLarge, 3 * time.Second},
		"an answer that is cut off is a crash":     {"short", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
		"a job that there is not is a crash":       {"nothing", time.Hour, ports.ErrJobCrashed, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			assert.ErrorIs(t, run(t, tt.job, tt.within, new(any)), tt.want)
			proof.Within(t, tt.job, time.Since(start), tt.most)
		})
	}

	t.Run("who is called off is gone at once", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, r.Run(ctx, "wsp_1", "wait", time.Hour, 1, new(any)), context.DeadlineExceeded)
		proof.Within(t, "the job", time.Since(start), 2*time.Second)
	})

	t.Run("who waits for a place can be called off", func(t *testing.T) {
		one, err := confine.New(confine.DefaultLimits(), 1, program, childMode)
		require.NoError(t, err)
		defer one.Close()
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- one.Run(ctx, "wsp_1", "wait", time.Hour, 1, new(any)) }()
		short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer stop()
		second := one.Run(short, "wsp_2", "wait", time.Hour, 1, new(any))
		cancel()
		if err := <-first; (!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)) ||
			!errors.Is(second, context.DeadlineExceeded) {
			t.Errorf("errors = %v, %v", err, second)
		}
	})

	t.Run("a tenant whose jobs hang leaves room for others", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for range 10 { // of four places: two run, eight wait
			hanging.Go(func() { _ = r.Run(ctx, "wsp_1", "wait", time.Hour, 1, new(any)) })
		}
		defer hanging.Wait()
		defer cancel()
		var pid int
		proof.Eventually(t, "two run", func() bool { return len(childrenOf(t, os.Getpid())) >= 2 })
		for range 3 {
			assert.NoError(t, r.Run(t.Context(), "wsp_2", "pid", proof.Patience, 1, &pid))
		}
		short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer stop()
		assert.ErrorIs(t, r.Run(short, "wsp_1", "pid", time.Hour, 1, &pid), ports.ErrJobRefused)
	})

	t.Run("a child that waits is warm", func(t *testing.T) {
		fresh := runner(t, confine.DefaultLimits())
		isWarm := func() (warm bool) {
			require.NoError(t, fresh.Run(t.Context(), "wsp_1", "is warm", time.Hour, 1, &warm))
			return warm
		}
		proof.Eventually(t, "a child has waited", isWarm)
	})

	t.Run("a child that died while it waited is replaced", func(t *testing.T) {
		var pid int
		require.NoError(t, run(t, "pid", time.Hour, &pid))
		for _, spare := range childrenOf(t, os.Getpid()) {
			require.NoError(t, syscall.Kill(spare, syscall.SIGKILL))
			dead(t, spare)
		}
		assert.NoError(t, run(t, "pid", time.Hour, &pid))
	})
}
