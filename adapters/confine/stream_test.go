package confine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// streams are the jobs of this test whose answers have parts.
var streams = map[string]func(ctx context.Context, input json.RawMessage, emit func(any) error) error{
	"count": func(_ context.Context, input json.RawMessage, emit func(any) error) error {
		var n int
		if err := json.Unmarshal(input, &n); err != nil {
			return err
		}
		for i := range n {
			if err := emit(i); err != nil {
				return err
			}
		}
		return nil
	},
	"large part": func(_ context.Context, _ json.RawMessage, emit func(any) error) error {
		return emit(strings.Repeat("x", 3<<20))
	},
	"broken stream": func(_ context.Context, _ json.RawMessage, emit func(any) error) error {
		if err := emit(0); err != nil {
			return err
		}
		panic("c4n4ry")
	},
	"cut stream": func(_ context.Context, _ json.RawMessage, emit func(any) error) error {
		if err := emit(0); err != nil {
			return err
		}
		os.Exit(0)
		return nil
	},
	"empty part": func(_ context.Context, _ json.RawMessage, emit func(any) error) error { return emit([]byte{}) },
	"endless stream": func(_ context.Context, _ json.RawMessage, emit func(any) error) error {
		for {
			if err := emit(strings.Repeat("x", 1<<10)); err != nil {
				return err
			}
		}
	},
}

func TestAStreamedAnswerComesInParts(t *testing.T) {
	r := runner(t, confine.DefaultLimits())
	read := func(ctx context.Context, job string, in any, visit func(n int) error) (parts int, err error) {
		err = r.Stream(ctx, "wsp_1", job, proof.Patience, in, func(json.RawMessage) error {
			parts++
			return visit(parts)
		})
		return parts, err
	}
	all := func(int) error { return nil }
	if n, err := read(t.Context(), "count", 1000, all); err != nil || n != 1000 {
		t.Errorf("%d parts, %v", n, err)
	}
	if n, err := read(t.Context(), "count", 0, all); err != nil || n != 0 {
		t.Errorf("%d parts of none, %v", n, err)
	}
	if _, err := read(t.Context(), "large part", 0, all); !errors.Is(err, ports.ErrJobTooLarge) {
		t.Errorf("a part that is too large: %v", err)
	}
	if n, err := read(t.Context(), "broken stream", 0, all); !errors.Is(err, ports.ErrJobCrashed) || n != 1 {
		t.Errorf("a job that panics: %d parts, %v", n, err)
	}
	if n, err := read(t.Context(), "cut stream", 0, all); !errors.Is(err, ports.ErrJobCrashed) || n != 1 {
		t.Errorf("an answer without its end: %d parts, %v", n, err)
	}
	if _, err := read(t.Context(), "empty part", 0, all); !errors.Is(err, ports.ErrJobCrashed) {
		t.Errorf("an empty part, which would be the end: %v", err)
	}
	if _, err := read(t.Context(), "wait", 0, all); !errors.Is(err, ports.ErrJobCrashed) {
		t.Errorf("a job that has no parts: %v", err)
	}
	failure := errors.New("enough")
	if n, err := read(t.Context(), "endless stream", 0, func(n int) error {
		if n == 10 {
			return failure
		}
		return nil
	}); !errors.Is(err, failure) || n != 10 {
		t.Errorf("a reader that has enough: %d parts, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := read(ctx, "endless stream", 0, func(n int) error {
		if n == 10 {
			cancel()
		}
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that is gone: %v", err)
	}
	if err := r.Stream(t.Context(), "wsp_1", "endless stream", 100*time.Millisecond, 0,
		func(json.RawMessage) error { return nil }); !errors.Is(err, ports.ErrJobTimeout) {
		t.Errorf("a stream without an end: %v", err)
	}
}
