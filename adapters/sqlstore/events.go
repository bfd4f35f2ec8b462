package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Events reads the audit trail.
type Events struct{ db *DB }

var _ ports.Events = (*Events)(nil)

// record writes what an aggregate recorded, in the transaction that saves the aggregate.
func (db *DB) record(ctx context.Context, events []event.Event) error {
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		if _, err := db.exec(ctx, `INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id, address)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			e.ID, e.Org, e.Workspace, e.Type, e.Actor, e.Key, e.Subject, string(data), micros(e.At), e.Request.ID, e.Request.Address); err != nil {
			return err
		}
	}
	return nil
}

type eventRow struct {
	ID        string               `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Type      string               `db:"type"`
	Actor     identity.UserID      `db:"actor_id"`
	Key       identity.KeyID       `db:"key_id"`
	Subject   string               `db:"subject"`
	Data      []byte               `db:"data"`
	At        int64                `db:"created_at"`
	RequestID string               `db:"request_id"`
	Address   string               `db:"address"`
}

// List implements ports.Events.
func (s *Events) List(ctx context.Context, ws identity.WorkspaceID, f event.Filter, q page.Query) (event.Page, error) {
	where := newConditions(`workspace_id = ?`, ws)
	where.when(q.After != "", `id < ?`, q.After)
	where.when(f.Type != "", `type = ?`, f.Type)
	where.when(f.Actor != "", `actor_id = ?`, f.Actor)
	where.when(f.Subject != "", `subject = ?`, f.Subject)
	where.when(!f.CreatedAfter.IsZero(), `created_at > ?`, micros(f.CreatedAfter))
	var rows []eventRow
	err := s.db.list(ctx, &rows, `
		SELECT id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id, address
		FROM events WHERE `+where.sql()+` ORDER BY id DESC LIMIT ?`, where.args(q.Limit+1)...)
	if err != nil {
		return event.Page{}, err
	}
	events := make([]event.Event, len(rows))
	for i, r := range rows {
		events[i] = event.Event{
			ID: r.ID, Org: r.Org, Workspace: r.Workspace, Type: r.Type, Actor: r.Actor, Key: r.Key, Subject: r.Subject,
			At: moment(r.At), Request: identity.Request{ID: r.RequestID, Address: r.Address},
		}
		if err := json.Unmarshal(r.Data, &events[i].Data); err != nil {
			return event.Page{}, err
		}
	}
	return page.Cut(events, q.Limit, func(e event.Event) string { return e.ID }), nil
}
