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

// KeyUsage records when API keys are used, exact to a minute. Keys may be used thousands of times a second,
// so uses are collected in memory and written together soon after: no request waits for a write.
type KeyUsage struct {
	keys ports.Keys

	mu      sync.Mutex
	pending map[identity.OrgID]map[identity.KeyID]time.Time // not stored yet
}

// NewKeyUsage returns a recorder that stores uses in keys.
func NewKeyUsage(keys ports.Keys) *KeyUsage {
	return &KeyUsage{keys: keys, pending: map[identity.OrgID]map[identity.KeyID]time.Time{}}
}

// flushInterval is how long only this node knows a use. The use is lost if the node is killed in this
// time.
const flushInterval = time.Second

// Record records that k was used, unless its last known use was within the last minute.
func (u *KeyUsage) Record(k account.Key, at time.Time) {
	if at.Sub(k.LastUsedAt) < time.Minute {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(k.Org, k.ID, at)
}

// add keeps the earliest recorded use. The caller must hold u's lock.
func (u *KeyUsage) add(org identity.OrgID, k identity.KeyID, at time.Time) {
	if u.pending[org] == nil {
		u.pending[org] = map[identity.KeyID]time.Time{}
	}
	if _, ok := u.pending[org][k]; !ok {
		u.pending[org][k] = at
	}
}

// Flush writes the recorded uses. Uses that could not be written stay recorded for the next call.
func (u *KeyUsage) Flush(ctx context.Context) error {
	u.mu.Lock()
	uses := u.pending
	u.pending = map[identity.OrgID]map[identity.KeyID]time.Time{}
	u.mu.Unlock()
	var failed []error
	for org, used := range uses {
		if err := u.keys.Used(ctx, org, used); err != nil {
			failed = append(failed, err)
			continue
		}
		delete(uses, org)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for org, used := range uses {
		for k, at := range used {
			u.add(org, k, at)
		}
	}
	return errors.Join(failed...)
}

// Run writes recorded uses until ctx ends, and reports errors.
func (u *KeyUsage) Run(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := u.Flush(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}
