package oidc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

const (
	minInterval   = time.Minute     // between refreshes, for any tokens (api.md, credentials)
	maxAge        = 5 * time.Minute // of keys, until they are fetched again
	maxOutage     = 6 * time.Hour   // how long after the issuer's last response its old keys are used
	retryInterval = 5 * time.Second // before the first keys were fetched
)

// keyring caches the keys of one issuer. At most one refresh runs at a time, for any number of callers.
type keyring struct {
	issuer   string
	provider provider
	log      *slog.Logger

	mu         sync.Mutex
	keys       *keySet       // nil: never had
	fetched    time.Time     // when the keys were requested
	attempted  time.Time     // when the last refresh began
	failed     error         // of the last refresh
	refreshing chan struct{} // closed when the current refresh has ended; nil: there is none
}

// find returns the key for a token and the set that contains it. The key is nil if the issuer has none.
func (r *keyring) find(ctx context.Context, h header, now time.Time) (*keySet, *key, error) {
	set, err := r.current(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	if k := set.find(h); k != nil {
		return set, k, nil
	}
	r.mu.Lock()
	r.begin(ctx, minInterval, now)
	set, err = r.await(ctx)
	if err != nil {
		return nil, nil, err
	}
	return set, set.find(h), nil
}

// current returns the keys without waiting, unless they are too old or missing. While the issuer
// is down, old keys are used for up to maxOutage, and only callers before the first failure wait.
func (r *keyring) current(ctx context.Context, now time.Time) (*keySet, error) {
	r.mu.Lock()
	if r.keys != nil && now.Sub(r.fetched).Abs() >= maxOutage {
		r.keys = nil // the issuer may have withdrawn them long ago
	}
	switch {
	case r.keys == nil:
		r.begin(ctx, retryInterval, now)
	case now.Sub(r.fetched).Abs() < maxAge:
		defer r.mu.Unlock()
		return r.keys, nil
	default:
		r.begin(ctx, minInterval, now)
		if r.failed != nil {
			defer r.mu.Unlock()
			return r.keys, nil
		}
	}
	return r.await(ctx)
}

// begin starts a refresh, unless one is running or the last began less than interval ago. The difference is
// absolute, so that a clock that was set back does not stop refreshes. The caller holds r.mu.
func (r *keyring) begin(ctx context.Context, interval time.Duration, now time.Time) {
	if r.refreshing != nil || now.Sub(r.attempted).Abs() < interval {
		return
	}
	r.attempted, r.refreshing = now, make(chan struct{})
	// others wait for it too: it outlives the caller, though not its own deadline
	go r.refresh(context.WithoutCancel(ctx), now)
}

func (r *keyring) refresh(ctx context.Context, now time.Time) {
	set, err := r.provider.keys(ctx, r.issuer)
	if err != nil {
		r.log.WarnContext(ctx, "the keys of an OIDC issuer were not refreshed", "issuer", r.issuer, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = err; err == nil {
		r.keys, r.fetched = set, now
	}
	close(r.refreshing)
	r.refreshing = nil
}

// await returns the keys when no refresh is running. The caller holds r.mu; await unlocks it.
func (r *keyring) await(ctx context.Context) (*keySet, error) {
	refreshing := r.refreshing
	r.mu.Unlock()
	if refreshing != nil {
		select {
		case <-refreshing:
		case <-ctx.Done():
			return nil, fmt.Errorf("oidc: issuer %s: %w: %w", r.issuer, ports.ErrUnavailable, ctx.Err())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		return nil, fmt.Errorf("oidc: issuer %s: %w: %w", r.issuer, ports.ErrUnavailable, r.failed)
	}
	return r.keys, nil
}
