package chats

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	maxAhead = 16          // replies of a busy token that are reserved with one write
	busy     = time.Second // a token that is counted again within this time
)

// replyCounts counts the replies of tokens. For a busy token it reserves several at a time, in advance, so that they do
// not all wait for the disk; unused reservations are returned each usageInterval. So the count in the store is never
// too low, even if this node is killed.
type replyCounts struct {
	store ports.EmbedReplies

	mu       sync.Mutex
	reserved map[countedFor]*counted
}

type countedFor struct {
	org    identity.OrgID
	token  chat.EmbedTokenID
	origin chat.Origin
	day    chat.Day
}

type counted struct {
	remaining, block int
	at               time.Time // of the latest call of the store
}

// take counts one reply, unless the token already has most on that day.
func (c *replyCounts) take(
	ctx context.Context, t *chat.EmbedToken, origin chat.Origin, at time.Time,
) (bool, error) {
	key := countedFor{t.Org, t.ID, origin, chat.DayOf(at)}
	n, ok := c.begin(key, at)
	if ok {
		return true, nil
	}
	got, err := c.store.Count(ctx, t.Org, t.ID, origin, key.day, n, t.RepliesPerDay)
	if err != nil || got == 0 {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.reserved[key]; known != nil {
		known.remaining += got - 1
	} else if got > 1 {
		c.reserved[key] = &counted{remaining: got - 1, block: got, at: at}
	}
	return true, nil
}

// begin takes one of the reserved replies, or returns how many to reserve.
func (c *replyCounts) begin(key countedFor, at time.Time) (n int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.reserved[key]
	if known == nil {
		if len(c.reserved) >= maxPending { // the others are counted one by one
			return 1, false
		}
		known = &counted{}
		c.reserved[key] = known
	}
	if known.remaining > 0 {
		known.remaining--
		return 0, true
	}
	if at.Sub(known.at) > busy {
		known.block = 1
	} else {
		known.block = min(2*known.block, maxAhead)
	}
	known.at = at
	return known.block, false
}

// Flush returns unused reservations.
func (s *Replies) Flush(ctx context.Context) error {
	c := s.counts
	c.mu.Lock()
	ahead := c.reserved
	c.reserved = map[countedFor]*counted{}
	c.mu.Unlock()
	var failed []error
	for key, known := range ahead {
		if known.remaining == 0 {
			continue
		}
		if err := c.store.Return(ctx, key.org, key.token, key.origin, key.day, known.remaining); err != nil {
			failed = append(failed, err) // they stay counted, so the daily limit holds
		}
	}
	return errors.Join(failed...)
}

// Run flushes until ctx ends, and reports errors.
func (s *Replies) Run(ctx context.Context, report func(error)) {
	flushEach(ctx, s.Flush, report)
}
