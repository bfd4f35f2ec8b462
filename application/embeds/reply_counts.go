package embeds

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	maxAhead = 16          // a busy token's replies that are reserved with one write
	busy     = time.Second // a token that is counted again within this time
)

// replyCounts counts the replies of tokens. For a busy token it reserves several at a time, in advance, so that they do
// not all wait for the disk; unused reservations are returned each usageInterval. So the count in the store is never
// too low, even if this node is killed.
type replyCounts struct {
	store ports.EmbedReplies

	mu       sync.Mutex
	reserved map[countedFor]*counted
	day      embed.Day       // of taken
	taken    map[replyTo]int // on this node; at most maxPending
}

// replyTo is whose replies for a token are counted together: a visitor that the site's backend signed, or the unsigned
// visitors from a group of addresses.
type replyTo struct {
	token            embed.TokenID
	visitor, address string
}

type countedFor struct {
	org    identity.OrgID
	token  embed.TokenID
	origin embed.Origin
	day    embed.Day
	most   int // that the token may have on that day
}

type counted struct {
	remaining, block int
	at               time.Time // of the latest call of the store
}

// own returns how many replies a recipient has had on a day, and counts one more.
func (c *replyCounts) own(recipient replyTo, day embed.Day) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.day != day || c.taken == nil {
		c.day, c.taken = day, map[replyTo]int{}
	}
	previous := c.taken[recipient]
	if previous > 0 || len(c.taken) < maxPending {
		c.taken[recipient]++
	}
	return previous
}

// take counts one reply to a visitor, unless the token already has as many on that day as it may for this visitor.
func (c *replyCounts) take(
	ctx context.Context, t *embed.Token, v Visit, pass embed.Pass,
) (bool, error) {
	now, day, recipient := v.At, embed.DayOf(v.At), replyTo{token: t.ID, address: v.Address}
	visitor := pass.Counted().Visitor
	if visitor != "" {
		recipient.visitor, recipient.address = visitor, ""
	}
	key := countedFor{t.Org, t.ID, pass.Origin, day, t.MostReplies(visitor != "", c.own(recipient, day), now)}
	n, ok := c.begin(key, now)
	if ok {
		return true, nil
	}
	granted, err := c.store.Count(ctx, t.Org, t.ID, pass.Origin, day, n, key.most)
	if err != nil || granted == 0 {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if count := c.reserved[key]; count != nil {
		count.remaining += granted - 1
	} else if granted > 1 {
		c.reserved[key] = &counted{remaining: granted - 1, block: granted, at: now}
	}
	return true, nil
}

// begin takes one of the reserved replies, or returns how many to reserve.
func (c *replyCounts) begin(key countedFor, now time.Time) (n int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.reserved[key]
	if count == nil {
		if len(c.reserved) >= maxPending { // the others are counted one by one
			return 1, false
		}
		count = &counted{}
		c.reserved[key] = count
	}
	if count.remaining > 0 {
		count.remaining--
		return 0, true
	}
	if now.Sub(count.at) > busy {
		count.block = 1
	} else {
		count.block = min(2*count.block, maxAhead)
	}
	count.at = now
	return count.block, false
}

// Flush returns unused reservations, and writes what became of replies.
func (s *Replies) Flush(ctx context.Context) error {
	return errors.Join(s.counts.flush(ctx), s.outcomes.flush(ctx, s.embeds))
}

// flush returns unused reservations.
func (c *replyCounts) flush(ctx context.Context) error {
	c.mu.Lock()
	ahead := c.reserved
	c.reserved = map[countedFor]*counted{}
	c.mu.Unlock()
	var errs []error
	for key, count := range ahead {
		if count.remaining == 0 {
			continue
		}
		if err := c.store.Return(ctx, key.org, key.token, key.origin, key.day, count.remaining); err != nil {
			errs = append(errs, err) // they stay counted, so the daily limit holds
		}
	}
	return errors.Join(errs...)
}

// Run flushes until ctx ends, and reports errors.
func (s *Replies) Run(ctx context.Context, report func(error)) {
	flushEach(ctx, s.Flush, report)
}
