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

// Uses records when API keys are used, exact to a minute. Keys may be used thousands of times a second,
// so uses are collected in memory and written together soon after: no request waits for a write.
type Uses struct {
	keys ports.Keys

	mu    sync.Mutex
	noted map[identity.OrgID]map[identity.KeyID]time.Time // not stored yet
}

// NewUses returns a recorder that stores uses in keys.
func NewUses(keys ports.Keys) *Uses {
	return &Uses{keys: keys, noted: map[identity.OrgID]map[identity.KeyID]time.Time{}}
}

// storeUsesEvery is how long only this node knows a use. The use is lost if the node is killed in this
// time.
const storeUsesEvery = time.Second

// Note records that k was used, unless its last known use was within the last minute.
func (u *Uses) Note(k account.Key, at time.Time) {
	if at.Sub(k.LastUsedAt) < time.Minute {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(k.Org, k.ID, at)
}

// add keeps the earliest recorded use. The caller must hold u's lock.
func (u *Uses) add(org identity.OrgID, k identity.KeyID, at time.Time) {
	if u.noted[org] == nil {
		u.noted[org] = map[identity.KeyID]time.Time{}
	}
	if _, ok := u.noted[org][k]; !ok {
		u.noted[org][k] = at
	}
}

// Store writes the recorded uses. Uses that could not be written stay recorded for the next call.
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

// Keep writes recorded uses until ctx ends, and reports errors.
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
