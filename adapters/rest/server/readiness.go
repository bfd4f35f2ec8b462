package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	readyFor     = time.Second     // how long a good result is reused
	readyTimeout = 2 * time.Second // of a check
)

// readiness serves everyone, without a credential and without a rate limit. So one check runs at a time, and
// concurrent requests share its result. A failure is not cached, since a node should get requests again as
// soon as it can serve them.
type readiness struct {
	check  func(context.Context) error
	log    *slog.Logger
	checks singleflight.Group
	until  atomic.Pointer[time.Time] // until then the last good result is used; nil after a bad one, and at first
	bad    atomic.Bool               // as the last check found
}

func (r *readiness) isReady(ctx context.Context) error {
	if end := r.until.Load(); end != nil && time.Now().Before(*end) {
		return nil
	}
	_, err, _ := r.checks.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout) // the first caller may go away
		defer cancel()
		err := r.check(ctx)
		r.record(ctx, err)
		return nil, err
	})
	return err
}

// record stores a check's result, and logs it if it has changed.
func (r *readiness) record(ctx context.Context, err error) {
	wasBad := r.bad.Swap(err != nil)
	if err != nil {
		r.until.Store(nil)
		if !wasBad {
			r.log.WarnContext(ctx, "not ready", "error", err)
		}
		return
	}
	end := time.Now().Add(readyFor)
	r.until.Store(&end)
	if wasBad {
		r.log.InfoContext(ctx, "ready again")
	}
}
