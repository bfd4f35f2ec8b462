package accounts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Uses notes when API keys are used, exact to a minute. Keys may be used thousands of times a second: what is
// noted is kept in memory, so that no request waits for a write, and stored together soon after.
type Uses struct {
	keys ports.Keys

	mu    sync.Mutex
	noted map[identity.OrgID]map[identity.KeyID]time.Time // and not stored yet
}

// NewUses returns a note of uses that is stored in keys.
func NewUses(keys ports.Keys) *Uses {
	return &Uses{keys: keys, noted: map[identity.OrgID]map[identity.KeyID]time.Time{}}
}

// storeUsesEvery is how long a use is known to this node alone, which loses it if it is killed.
const storeUsesEvery = time.Second

// Note remembers that k was used, if the last use that is known of was not within a minute.
func (u *Uses) Note(k account.Key, at time.Time) {
	if at.Sub(k.LastUsedAt) < time.Minute {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(k.Org, k.ID, at)
}

// add keeps the first use that is noted; u is locked.
func (u *Uses) add(org identity.OrgID, k identity.KeyID, at time.Time) {
	if u.noted[org] == nil {
		u.noted[org] = map[identity.KeyID]time.Time{}
	}
	if _, ok := u.noted[org][k]; !ok {
		u.noted[org][k] = at
	}
}

// Store stores what was noted. What could not be stored stays noted for the next time.
func (u *Uses) Store(ctx context.Context) error {
	u.mu.Lock()
	noted := u.noted
	u.noted = map[identity.OrgID]map[identity.KeyID]time.Time{}
	u.mu.Unlock()
	var failed []error
	for org, uses := range noted {
		if err := u.keys.Used(ctx, org, uses); err != nil {
			failed = append(failed, err)
			continue
		}
		delete(noted, org)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for org, uses := range noted {
		for k, at := range uses {
			u.add(org, k, at)
		}
	}
	return errors.Join(failed...)
}

// Keep stores what is noted until ctx ends, and reports what goes wrong.
func (u *Uses) Keep(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(storeUsesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := u.Store(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}
