package accounts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// KeyUsage records when API keys are used, exact to a minute, and counts the requests with them by day. Keys may be
// used thousands of times a second, so uses are collected in memory and written together soon after: no request waits
// for a write.
type KeyUsage struct {
	last     usage[identity.KeyID, account.KeyUse]
	requests requestCounter
}

// NewKeyUsage returns a recorder that stores uses in keys, and counts in requests.
func NewKeyUsage(keys ports.Keys, requests ports.KeyRequests) *KeyUsage {
	return &KeyUsage{newUsage(keys.Used), requestCounter{store: requests}}
}

// Record counts a request that a client at an address made with k. It records when k was last used, unless that was
// within the last minute as far as is known.
func (u *KeyUsage) Record(k *account.Key, now time.Time, address string) {
	u.requests.record(k, now)
	if now.Sub(k.LastUsedAt) >= time.Minute {
		u.last.record(k.Org, k.ID, account.KeyUse{At: now, Address: address})
	}
}

// Flush writes the recorded uses and counts. What could not be written stays recorded for the next call.
func (u *KeyUsage) Flush(ctx context.Context) error {
	return errors.Join(u.last.Flush(ctx), u.requests.flush(ctx))
}

// Run writes recorded uses and counts until ctx ends, and reports errors.
func (u *KeyUsage) Run(ctx context.Context, report func(error)) {
	var counting sync.WaitGroup
	counting.Go(func() { flushing(ctx, requestsFlushed, u.requests.flush, report) })
	flushing(ctx, flushInterval, u.last.Flush, report)
	counting.Wait()
}

// SessionUsage records when sessions are used, as KeyUsage does.
type SessionUsage struct {
	usage[identity.SessionID, time.Time]
}

// NewSessionUsage returns a recorder that stores uses in sessions.
func NewSessionUsage(sessions ports.Sessions) *SessionUsage {
	return &SessionUsage{newUsage(sessions.Used)}
}

// Record records that s was used, unless its last known use was within the last minute.
func (u *SessionUsage) Record(s *session.Session, now time.Time) {
	if now.Sub(s.LastSeenAt) >= time.Minute {
		u.record(s.Org, s.ID, now)
	}
}

// usage collects the uses of credentials of one kind.
type usage[ID ~string, Use any] struct {
	store func(context.Context, identity.OrgID, map[ID]Use) error

	mu      sync.Mutex
	pending map[identity.OrgID]map[ID]Use // not stored yet
}

func newUsage[ID ~string, Use any](store func(context.Context, identity.OrgID, map[ID]Use) error) usage[ID, Use] {
	return usage[ID, Use]{store: store, pending: map[identity.OrgID]map[ID]Use{}}
}

// flushInterval is the time for which only this node knows a use. The use is lost if the node is killed in this
// time.
const flushInterval = time.Second

func (u *usage[ID, Use]) record(org identity.OrgID, id ID, use Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(org, id, use)
}

// add keeps the earliest recorded use. The caller must hold u's lock.
func (u *usage[ID, Use]) add(org identity.OrgID, id ID, use Use) {
	if u.pending[org] == nil {
		u.pending[org] = map[ID]Use{}
	}
	if _, ok := u.pending[org][id]; !ok {
		u.pending[org][id] = use
	}
}

// Flush writes the recorded uses. Uses that could not be written stay recorded for the next call.
func (u *usage[ID, Use]) Flush(ctx context.Context) error {
	u.mu.Lock()
	uses := u.pending
	u.pending = map[identity.OrgID]map[ID]Use{}
	u.mu.Unlock()
	var errs []error
	for org, byID := range uses {
		if err := u.store(ctx, org, byID); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(uses, org)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for org, byID := range uses {
		for id, use := range byID {
			u.add(org, id, use)
		}
	}
	return errors.Join(errs...)
}

// Run writes recorded uses until ctx ends, and reports errors.
func (u *usage[ID, Use]) Run(ctx context.Context, report func(error)) {
	flushing(ctx, flushInterval, u.Flush, report)
}

// flushing flushes at an interval until ctx ends, and reports errors.
func flushing(
	ctx context.Context, interval time.Duration, flush func(context.Context) error, report func(error),
) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := flush(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}
