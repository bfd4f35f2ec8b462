package embeds

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	usageInterval = 5 * time.Second // how long only this node knows a use, which is lost if the node is killed
	maxPending    = 10_000          // uses of different tokens, days and origins; others are not counted
)

// Usage counts the sessions and refusals of embed tokens. They are collected in memory and written together soon
// after, so that nothing is written for a single visitor.
type Usage struct {
	store ports.EmbedUses

	mu      sync.Mutex
	pending map[usedToken]map[usedBy]embed.Counts
	size    int
}

type usedToken struct {
	org identity.OrgID
	id  embed.TokenID
}

type usedBy struct {
	day    embed.Day
	origin embed.Origin
}

// NewUsage returns a counter that stores counts in s.
func NewUsage(s ports.EmbedUses) *Usage {
	return &Usage{store: s, pending: map[usedToken]map[usedBy]embed.Counts{}}
}

// Session counts a session that a page of origin opened.
func (u *Usage) Session(t *embed.Token, origin embed.Origin, now time.Time) {
	u.add(usedToken{t.Org, t.ID}, usedBy{embed.DayOf(now), origin}, embed.Counts{Sessions: 1})
}

// Refusal counts a call from a page of origin that was refused.
func (u *Usage) Refusal(t *embed.Token, origin embed.Origin, now time.Time) {
	u.add(usedToken{t.Org, t.ID}, usedBy{embed.DayOf(now), origin}, embed.Counts{Refusals: 1})
}

// add counts what is stored later. It drops new origins beyond maxPending.
func (u *Usage) add(key usedToken, by usedBy, n embed.Counts) {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts, isKnown := u.pending[key][by]
	if !isKnown {
		if u.size >= maxPending {
			return
		}
		u.size++
	}
	if u.pending[key] == nil {
		u.pending[key] = map[usedBy]embed.Counts{}
	}
	counts.Sessions += n.Sessions
	counts.Refusals += n.Refusals
	u.pending[key][by] = counts
}

// Flush writes the counts. Those that could not be written stay for the next call.
func (u *Usage) Flush(ctx context.Context) error {
	u.mu.Lock()
	pending := u.pending
	u.pending, u.size = map[usedToken]map[usedBy]embed.Counts{}, 0
	u.mu.Unlock()
	var errs []error
	for key, byDay := range pending {
		uses := make([]embed.Use, 0, len(byDay))
		for by, counts := range byDay {
			uses = append(uses, embed.Use{Day: by.day, Origin: by.origin, Counts: counts})
		}
		if err := u.store.Add(ctx, key.org, key.id, uses); err != nil {
			errs = append(errs, err)
			for by, counts := range byDay {
				u.add(key, by, counts)
			}
		}
	}
	return errors.Join(errs...)
}

// Run writes the counts until ctx ends, and reports errors.
func (u *Usage) Run(ctx context.Context, report func(error)) {
	flushEach(ctx, u.Flush, report)
}

func flushEach(ctx context.Context, act func(context.Context) error, report func(error)) {
	ticker := time.NewTicker(usageInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := act(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}

// Usage returns how often a template token was used from one day to another, both included: by day, latest first, and
// origin, and which replies failed, by day and code. Requires the manager role. Returns embed.ErrUsageRange if these
// are not 1 to 90 days.
func (s *Service) Usage(
	ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID, from, to embed.Day,
) ([]embed.Use, []embed.Failure, error) {
	if _, err := s.Get(ctx, by, template, id); err != nil {
		return nil, nil, err
	}
	if from > to || to-from >= embed.UsageDays {
		return nil, nil, embed.ErrUsageRange
	}
	uses, err := s.uses.List(ctx, by.Org, id, from, to)
	if err != nil {
		return nil, nil, err
	}
	failures, err := s.uses.Failures(ctx, by.Org, id, from, to)
	return uses, failures, err
}
