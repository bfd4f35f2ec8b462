package events

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Feed implements ports.Events. Events are ordered by their places in the workspace's chain. Store.Link assigns places
// to committed events, without gaps, so that no reader passes an event that appears later. A filter needs no index,
// since one page examines a bounded number of places.
func (s *Events) Feed(
	ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, q event.FeedQuery,
) (event.Feed, error) {
	// The end is read before the events: events that are linked in between belong to the next page.
	base, end, err := s.db.ChainEnds(ctx, org, ws)
	if err != nil || end <= q.After {
		return event.Feed{First: base + 1, Last: end}, err
	}
	last := min(end, q.After+int64(s.db.Scans.Events))
	conditions := db.NewConditions(`workspace_id = ? AND org_id = ? AND chain_seq > 0 AND chain_seq > ?
		AND chain_seq <= ?`, ws, org, q.After, last)
	conditions.When(q.Type != "", `type = ?`, q.Type)
	db.OneOf(conditions, `type`, q.Types)
	conditions.When(q.Actor != "", `actor_id = ?`, q.Actor)
	conditions.When(q.Subject != "", `subject = ?`, q.Subject)
	conditions.When(q.Request != "", `request_id = ?`, q.Request)
	conditions.When(!q.CreatedAfter.IsZero(), `created_at > ?`, db.Micros(q.CreatedAfter))
	conditions.When(!q.CreatedBefore.IsZero(), `created_at < ?`, db.Micros(q.CreatedBefore))
	s.db.readableBy(conditions, q.Reader)
	rows, err := packedEvents.List(ctx, s.db.DB, `chain_seq`, `
		SELECT `+eventColumns+`
		FROM events WHERE `+conditions.SQL()+` ORDER BY chain_seq LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return event.Feed{}, err
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		last = rows[q.Limit-1].Seq
	}
	// The beginning is read after the events, since retention can remove some in between.
	if base, _, err = s.db.ChainEnds(ctx, org, ws); err != nil {
		return event.Feed{}, err
	}
	return event.Feed{Items: eventsOf(rows), First: base + 1, Last: last, More: last < end}, nil
}
