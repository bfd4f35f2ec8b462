package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
)

func TestReadiness(t *testing.T) {
	// asked returns a readiness whose check lasts 0.1 seconds and returns find's error.
	requests := func(find func() error) (r *readiness, checks *int, log *bytes.Buffer) {
		checks, log = new(int), new(bytes.Buffer)
		return &readiness{log: slog.New(slog.NewTextHandler(log, nil)), check: func(ctx context.Context) error {
			*checks++
			select {
			case <-time.After(100 * time.Millisecond):
				return find()
			case <-ctx.Done():
				return ctx.Err()
			}
		}}, checks, log
	}
	err := errors.New("down")
	all := func(t *testing.T, r *readiness, n int, want error) {
		t.Helper()
		var everybody sync.WaitGroup
		for range n {
			everybody.Go(func() {
				assert.ErrorIs(t, r.isReady(t.Context()), want)
			})
		}
		everybody.Wait()
	}

	t.Run("all who ask at once share one check, and good news for a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, checks, log := requests(func() error { return nil })
			all(t, r, 50, nil)
			time.Sleep(999 * time.Millisecond)
			all(t, r, 50, nil)
			assert.Equal(t, "checks", *checks, 1)
			time.Sleep(time.Millisecond)
			all(t, r, 1, nil)
			if *checks != 2 || log.Len() != 0 {
				t.Errorf("after a second %d checks, and the log says %q", *checks, log)
			}
		})
	})
	t.Run("bad news is shared while it is found, and logged when it begins and ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			found := err
			r, checks, log := requests(func() error { return found })
			all(t, r, 50, err)
			all(t, r, 50, err)
			if *checks != 2 || strings.Count(log.String(), "not ready") != 1 {
				t.Errorf("%d checks, and the log says %q", *checks, log)
			}
			found = nil
			all(t, r, 1, nil)
			if *checks != 3 || strings.Count(log.String(), "ready again") != 1 {
				t.Errorf("%d checks, and the log says %q", *checks, log)
			}
		})
	})
	t.Run("a caller who leaves does not end the check for others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, checks, _ := requests(func() error { return nil })
			ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
			defer leave()
			go func() { _ = r.isReady(ctx) }()
			synctest.Wait()
			all(t, r, 1, nil)
			assert.Equal(t, "checks", *checks, 1)
		})
	})
	t.Run("a probe that is refused again and again fills no log", func(t *testing.T) {
		log := new(bytes.Buffer)
		a := &API{Now: Now, Contract: conformance.Contract(t), Deps: Deps{Log: slog.New(slog.NewTextHandler(log, nil))},
			Config: Config{RequestTimeout: time.Minute}}
		ready := a.NewPage(http.MethodGet, "/api/health/ready", showReadiness).handler
		a.readiness = readiness{check: func(context.Context) error { return err }, log: a.Log}
		for range 5 {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/health/ready", nil)
			ready.ServeHTTP(w, observed(r))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
				!strings.Contains(w.Body.String(), `"unavailable"`) {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines in the log: %s", n, log)
		}
	})
	t.Run("a check that hangs is given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _, _ := requests(func() error { return nil })
			r.check = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			start := time.Now()
			all(t, r, 3, context.DeadlineExceeded)
			assert.Equal(t, "after", time.Since(start), readyTimeout)
		})
	})
}
