package presences

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
)

// calls counts the calls of a store of presences that an open stream could cause.
type calls struct {
	ports.Presences
	h *streamEnv
}

func (c calls) count() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.called++
}

func (c calls) Due(
	ctx context.Context, org identity.OrgID, by time.Time, current presence.DueEntry, limit int,
) ([]presence.DueEntry, error) {
	c.count()
	return c.Presences.Due(ctx, org, by, current, limit)
}

func (c calls) Counts(
	ctx context.Context, org identity.OrgID, reader identity.UserID,
) (presence.Counts, int64, error) {
	c.count()
	return c.Presences.Counts(ctx, org, reader)
}

func (c calls) Workspaces(ctx context.Context, org identity.OrgID,
	users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID, error) {
	c.count()
	return c.Presences.Workspaces(ctx, org, users)
}

func (c calls) Update(ctx context.Context, org identity.OrgID, users []identity.UserID,
	change func(*presence.Record) error) ([]*presence.Record, error) {
	c.count()
	return c.Presences.Update(ctx, org, users, change)
}

func (c calls) Changes(ctx context.Context, org identity.OrgID, bound int64, users []identity.UserID,
	limit int) ([]presence.Record, error) {
	c.count()
	return c.Presences.Changes(ctx, org, bound, users, limit)
}

// during returns how often the callers of streams were resolved in 35 s, and how often the store of presences was
// called.
func (h *streamEnv) during() (resolvedCount, calledCount int) {
	count := func() (int, int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.resolved, h.called
	}
	resolvedBefore, calledBefore := count()
	time.Sleep(35 * time.Second) // more than an open stream may take to report its user
	resolvedCount, calledCount = count()
	return resolvedCount - resolvedBefore, calledCount - calledBefore
}
