package events

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Events reads the audit trail.
type Events struct{ db *Store }

var _ ports.Events = (*Events)(nil)

// Follow implements ports.Events.
func (s *Events) Follow(ws identity.WorkspaceID) (news <-chan struct{}, stop func()) {
	return s.db.Follow(ws)
}

type eventRow struct {
	ID        string               `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Type      string               `db:"type"`
	Actor     identity.UserID      `db:"actor_id"`
	Key       identity.KeyID       `db:"key_id"`
	Session   identity.SessionID   `db:"session_id"`
	Subject   string               `db:"subject"`
	Data      []byte               `db:"data"`
	At        int64                `db:"created_at"`
	RequestID string               `db:"request_id"`
	Address   string               `db:"address"`
	Seq       int64                `db:"chain_seq"`
	Revision  int64                `db:"revision"`
}

const eventColumns = `id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at,
	request_id, address, chain_seq, revision`

// clockSlack is the maximum duration by which an event's id may be earlier than the event's time. The time is the
// request's, the id is made later, and the clock may be set back in between.
const clockSlack = time.Minute

// idLag is the maximum duration by which an event's id may be later than the event's time: long work makes the id at
// its end.
const idLag = time.Hour

// event returns the event without its data.
func (r *eventRow) event() event.Event {
	return event.Event{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Type: r.Type, Actor: r.Actor, Key: r.Key,
		Session: r.Session, Subject: r.Subject, At: db.FromMicros(r.At),
		Request: identity.Request{ID: r.RequestID, Address: r.Address}, Seq: r.Seq,
		Revision: r.Revision,
	}
}

// List implements ports.Events. An index serves one filter, the most selective of several; the number of rows that the
// others filter out is bounded.
func (s *Events) List(ctx context.Context, ws identity.WorkspaceID, f event.Filter, q page.Query) (event.Page, error) {
	eventID, conditions := s.db.Dialect.EventID, db.NewConditions(`workspace_id = ?`, ws)
	conditions.PageBounds(eventID, q.After, "")
	conditions.When(!f.CreatedAfter.IsZero(), eventID+` >= ?`, id.Floor(event.Prefix, f.CreatedAfter.Add(-clockSlack)))
	conditions.When(!f.CreatedBefore.IsZero(), eventID+` < ?`, id.Floor(event.Prefix, f.CreatedBefore.Add(idLag)))
	type filter struct{ condition, value string }
	filters := slices.DeleteFunc([]filter{{`request_id = ?`, f.Request}, {`subject = ?`, f.Subject},
		{`actor_id = ?`, string(f.Actor)}, {`type = ?`, f.Type}},
		func(by filter) bool { return by.value == "" })
	if len(filters) > 0 {
		conditions.When(true, filters[0].condition, filters[0].value)
	}
	floor := ""
	if len(filters) > 1 || f.Reader != nil {
		branch := db.Branch{From: `recorded_events`, ID: eventID, Where: conditions}
		var err error
		if floor, err = s.db.PageFloor(ctx, s.db.Scans.Events, branch); err != nil {
			return event.Page{}, err
		}
		conditions.PageBounds(eventID, "", floor)
	}
	for _, by := range filters[min(1, len(filters)):] {
		conditions.When(true, by.condition, by.value)
	}
	s.db.readableBy(conditions, f.Reader)
	// the + prevents the use of the index of all workspaces
	conditions.When(!f.CreatedAfter.IsZero(), `+created_at > ?`, db.Micros(f.CreatedAfter))
	conditions.When(!f.CreatedBefore.IsZero(), `+created_at < ?`, db.Micros(f.CreatedBefore))
	rows, err := packedEvents.List(ctx, s.db.DB, eventID+` DESC`, `
		SELECT `+eventColumns+`
		FROM recorded_events AS events WHERE `+conditions.SQL()+` ORDER BY `+eventID+` DESC LIMIT ?`,
		conditions.Args(q.Limit+1)...)
	if err != nil {
		return event.Page{}, err
	}
	return db.ContinueAt(page.Cut(eventsOf(rows), q.Limit, func(e event.Event) string { return e.ID }), floor), nil
}

var packedEvents = db.NewPackedList[eventRow]()

// eventsOf returns the rows' events, with their data as stored.
func eventsOf(rows []eventRow) []event.Event {
	events := make([]event.Event, len(rows))
	for i := range rows {
		events[i] = rows[i].event()
		events[i].Encoded = rows[i].Data
	}
	return events
}
