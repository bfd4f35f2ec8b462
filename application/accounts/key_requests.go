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

// maxKeyDays bounds the keys of which requests wait to be stored, while the database is away. Requests with others are
// not counted.
const maxKeyDays = 100_000

// requestsFlushed is the time for which only this node knows a request. Its count is lost if the node is killed in this
// time. A shorter time would cost the database a transaction each time, even when all responses come from memory.
const requestsFlushed = 10 * time.Second

// requestCounter counts requests with keys by day, in memory until they are flushed.
type requestCounter struct {
	store ports.KeyRequests

	mu      sync.Mutex
	pending map[identity.OrgID]account.KeyRequests // not stored yet
	total   int                                    // how many there are of all orgs
}

func (c *requestCounter) record(k *account.Key, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k.Org, account.KeyDay{Key: k.ID, Day: account.DayOf(now)}, 1)
}

// add requires c's lock.
func (c *requestCounter) add(org identity.OrgID, d account.KeyDay, n int64) {
	requests := c.pending[org]
	if c.total >= maxKeyDays {
		if _, isKnown := requests[d]; !isKnown {
			return
		}
	}
	if c.pending == nil {
		c.pending = map[identity.OrgID]account.KeyRequests{}
	}
	if requests == nil {
		requests = account.KeyRequests{}
		c.pending[org] = requests
	}
	size := len(requests)
	requests[d] += n
	c.total += len(requests) - size
}

// flush writes the counts. Counts that could not be written stay for the next call.
func (c *requestCounter) flush(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending, c.total = nil, 0
	c.mu.Unlock()
	var errs []error
	for org, requests := range pending {
		if err := c.store.AddRequests(ctx, org, requests); err != nil {
			errs = append(errs, err)
			c.mu.Lock()
			for d, n := range requests {
				c.add(org, d, n)
			}
			c.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// Count sets the Requests of keys of by's workspace, which by may see.
func (u *KeyUsage) Count(ctx context.Context, by identity.Actor, keys ...*account.Key) error {
	ids := make([]identity.KeyID, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	counts, err := u.requests.store.Requests(ctx, by.Workspace, ids, by.At)
	if err != nil {
		return err
	}
	for _, k := range keys {
		k.Requests = counts.Last(k.ID, by.At)
	}
	return nil
}
