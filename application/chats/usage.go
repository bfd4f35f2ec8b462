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
	usageInterval = 5 * time.Second // how long only this node knows a use, which is lost if the node is killed
	maxPending    = 10_000          // uses of different tokens, days and origins; others are not counted
)

// EmbedUsage counts the sessions and refusals of embed tokens. They are collected in memory and written together soon
// after, so that nothing is written for a single visitor.
type EmbedUsage struct {
	store ports.EmbedUses

	mu      sync.Mutex
	pending map[usedToken]map[usedBy]chat.EmbedCounts
	size    int
}

type usedToken struct {
	org identity.OrgID
	id  chat.EmbedTokenID
}

type usedBy struct {
	day    chat.Day
	origin chat.Origin
}

// NewEmbedUsage returns a counter that stores counts in s.
func NewEmbedUsage(s ports.EmbedUses) *EmbedUsage {
	return &EmbedUsage{store: s, pending: map[usedToken]map[usedBy]chat.EmbedCounts{}}
}

// Session counts a session that a page of origin opened.
func (u *EmbedUsage) Session(t *chat.EmbedToken, origin chat.Origin, at time.Time) {
	u.add(usedToken{t.Org, t.ID}, usedBy{chat.DayOf(at), origin}, chat.EmbedCounts{Sessions: 1})
}

// Refusal counts a call from a page of origin that was refused.
func (u *EmbedUsage) Refusal(t *chat.EmbedToken, origin chat.Origin, at time.Time) {
	u.add(usedToken{t.Org, t.ID}, usedBy{chat.DayOf(at), origin}, chat.EmbedCounts{Refusals: 1})
}

func (u *EmbedUsage) add(of usedToken, by usedBy, n chat.EmbedCounts) {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts, known := u.pending[of][by]
	if !known {
		if u.size >= maxPending {
			return
		}
		u.size++
	}
	if u.pending[of] == nil {
		u.pending[of] = map[usedBy]chat.EmbedCounts{}
	}
	counts.Sessions += n.Sessions
	counts.Refusals += n.Refusals
	u.pending[of][by] = counts
}

// Flush writes the counts. Those that could not be written stay for the next call.
func (u *EmbedUsage) Flush(ctx context.Context) error {
	u.mu.Lock()
	pending := u.pending
	u.pending, u.size = map[usedToken]map[usedBy]chat.EmbedCounts{}, 0
	u.mu.Unlock()
	var failed []error
	for of, used := range pending {
		uses := make([]chat.EmbedUse, 0, len(used))
		for by, counts := range used {
			uses = append(uses, chat.EmbedUse{Day: by.day, Origin: by.origin, EmbedCounts: counts})
		}
		if err := u.store.Add(ctx, of.org, of.id, uses); err != nil {
			failed = append(failed, err)
			for by, counts := range used {
				u.add(of, by, counts)
			}
		}
	}
	return errors.Join(failed...)
}

// Run writes the counts until ctx ends, and reports errors.
func (u *EmbedUsage) Run(ctx context.Context, report func(error)) {
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

// Usage returns how often a token of a template was used from one day to another, both included: by day, latest first,
// and origin. Requires the manager role. Returns chat.ErrUsageRange if these are not 1 to 90 days.
func (s *Embeds) Usage(
	ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID, from, to chat.Day,
) ([]chat.EmbedUse, error) {
	if _, err := s.Get(ctx, by, of, id); err != nil {
		return nil, err
	}
	if from > to || to-from >= chat.EmbedUsageKept {
		return nil, chat.ErrUsageRange
	}
	return s.uses.List(ctx, by.Org, id, from, to)
}
