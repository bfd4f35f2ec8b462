package payments

import (
	"context"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Inbox stores the events of payment gateways.
type Inbox struct{ db *Store }

var _ ports.Inbox = (*Inbox)(nil)

const eventColumns = `t.org_id, t.account, t.id, t.gateway, t.type, t.customer, t.workspace_id, t.state,
	t.attempts, t.failure, t.created_at, t.received_at, t.ended_at`

type eventRow struct {
	Org        identity.OrgID       `db:"org_id"`
	Account    string               `db:"account"`
	ID         string               `db:"id"`
	Gateway    payment.GatewayKind  `db:"gateway"`
	Type       string               `db:"type"`
	Customer   payment.CustomerID   `db:"customer"`
	Workspace  identity.WorkspaceID `db:"workspace_id"`
	State      payment.EventState   `db:"state"`
	Attempts   int                  `db:"attempts"`
	Failure    string               `db:"failure"`
	CreatedAt  int64                `db:"created_at"`
	ReceivedAt int64                `db:"received_at"`
	EndedAt    int64                `db:"ended_at"`
}

func (r *eventRow) event() payment.Event {
	return payment.Event{
		Org: r.Org, Account: r.Account, ID: r.ID, Gateway: r.Gateway, Type: r.Type, Customer: r.Customer,
		Workspace: r.Workspace,
		State:     r.State, Attempts: r.Attempts, Failure: r.Failure, CreatedAt: db.FromMicros(r.CreatedAt),
		ReceivedAt: db.FromMicros(r.ReceivedAt), EndedAt: db.FromMicros(r.EndedAt),
	}
}

// Put implements ports.Inbox.
func (s *Inbox) Put(ctx context.Context, org identity.OrgID, e *payment.Event) (bool, error) {
	count, err := s.db.Exec(ctx, `
		INSERT INTO payment_events (org_id, account, id, gateway, type, customer, workspace_id, state, attempts,
		failure, created_at, received_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, account, id) DO NOTHING`,
		org, e.Account, e.ID, e.Gateway, e.Type, e.Customer, e.Workspace, e.State, e.Attempts, e.Failure,
		db.Micros(e.CreatedAt), db.Micros(e.ReceivedAt), db.Micros(e.EndedAt))
	return count == 1, err
}

// Waiting implements ports.Inbox.
func (s *Inbox) Waiting(
	ctx context.Context, org identity.OrgID, account string, c payment.CustomerID,
) ([]payment.Event, error) {
	var rows []eventRow
	err := s.db.List(ctx, &rows, `
		SELECT `+eventColumns+` FROM payment_events t
		WHERE t.org_id = ? AND t.account = ? AND t.customer = ? AND t.ended_at = 0 ORDER BY t.received_at, t.id
		LIMIT 100`, org, account, c)
	return db.Convert(rows, (*eventRow).event), err
}

// Save implements ports.Inbox.
func (s *Inbox) Save(ctx context.Context, org identity.OrgID, events ...payment.Event) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		for _, e := range events {
			if _, err := tx.Exec(ctx, `UPDATE payment_events SET state = ?, attempts = ?, failure = ?, ended_at = ?
				WHERE org_id = ? AND account = ? AND id = ?`,
				e.State, e.Attempts, e.Failure, db.Micros(e.EndedAt), org, e.Account, e.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// List implements ports.Inbox.
func (s *Inbox) List(ctx context.Context, org identity.OrgID, state payment.EventState,
	q page.Query) (page.Of[payment.Event], error) {
	conditions := db.NewConditions(`t.org_id = ?`, org)
	conditions.When(state != "", `t.state = ?`, state)
	if micros, key, ok := cutPosition(q.After); ok {
		account, id, _ := strings.Cut(key, " ")
		conditions.When(true, `t.received_at <= ?`, micros) // an index serves this one, and not the next
		conditions.When(true, `(t.received_at < ? OR t.received_at = ? AND (t.account < ? OR t.account = ? AND t.id < ?))`,
			micros, micros, account, account, id)
	}
	var rows []eventRow
	err := s.db.List(ctx, &rows, `SELECT `+eventColumns+` FROM payment_events t WHERE `+conditions.SQL()+
		` ORDER BY t.received_at DESC, t.account DESC, t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...)
	return page.Cut(db.Convert(rows, (*eventRow).event), q.Limit,
		func(e payment.Event) string { return position(db.Micros(e.ReceivedAt), e.Account+" "+e.ID) }), err
}

// Get implements ports.Inbox.
func (s *Inbox) Get(ctx context.Context, org identity.OrgID, account, id string) (*payment.Event, error) {
	var row eventRow
	found, err := s.db.Get(ctx, &row, `SELECT `+eventColumns+` FROM payment_events t WHERE t.org_id = ?
		AND t.account = ? AND t.id = ?`, org, account, id)
	if err == nil && !found {
		err = payment.ErrEventNotFound
	}
	e := row.event()
	return &e, err
}

// Backlog implements ports.Inbox.
func (s *Inbox) Backlog(ctx context.Context, org identity.OrgID) (pending, dead int, start time.Time, err error) {
	var row struct {
		Waiting int   `db:"waiting"`
		Dead    int   `db:"dead"`
		Since   int64 `db:"since"`
	}
	_, err = s.db.Get(ctx, &row, `
		SELECT (SELECT COUNT(*) FROM payment_events WHERE org_id = ? AND ended_at = 0) AS waiting,
			(SELECT COUNT(*) FROM payment_events WHERE org_id = ? AND state = ?) AS dead,
			COALESCE((SELECT MIN(received_at) FROM payment_events WHERE org_id = ?
			AND ended_at = 0), 0) AS since`, org, org, payment.Dead, org)
	return row.Waiting, row.Dead, db.FromMicros(row.Since), err
}
