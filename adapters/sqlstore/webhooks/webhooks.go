package webhooks

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Webhooks stores webhook endpoints and lists their deliveries.
type Webhooks struct{ db *Store }

var _ ports.Webhooks = (*Webhooks)(nil)

// never is the due_at of an endpoint that has nothing to deliver.
const never = math.MaxInt64

const endpointColumns = `t.id, t.org_id, t.workspace_id, t.url, t.description, t.events, t.headers, t.sealed, t.enabled,
	t.reason, t.failures, t.failing_since, t.told, t.succeeded_at, t.secret, t.previous_until, t.place, t.created_by,
	COALESCE(NULLIF(t.owner_id, ''), t.created_by) AS owner_id, t.ownerless, t.revision, t.created_at, t.updated_at,
	t.leased_until`

type endpointRow struct {
	ID              webhook.ID           `db:"id"`
	Org             identity.OrgID       `db:"org_id"`
	Workspace       identity.WorkspaceID `db:"workspace_id"`
	URL             string               `db:"url"`
	Description     string               `db:"description"`
	Events          string               `db:"events"`
	Headers         string               `db:"headers"`
	Sealed          []byte               `db:"sealed"`
	Enabled         bool                 `db:"enabled"`
	Reason          webhook.Reason       `db:"reason"`
	Failures        int                  `db:"failures"`
	FailingSince    int64                `db:"failing_since"`
	FailureNotified bool                 `db:"told"`
	SucceededAt     int64                `db:"succeeded_at"`
	Secret          int                  `db:"secret"`
	PreviousUntil   int64                `db:"previous_until"`
	Place           int64                `db:"place"`
	CreatedBy       identity.UserID      `db:"created_by"`
	Owner           identity.UserID      `db:"owner_id"`
	Ownerless       bool                 `db:"ownerless"`
	Revision        int64                `db:"revision"`
	CreatedAt       int64                `db:"created_at"`
	UpdatedAt       int64                `db:"updated_at"`
	LeasedUntil     int64                `db:"leased_until"`
}

func (r *endpointRow) endpoint() (*webhook.Endpoint, error) {
	e := &webhook.Endpoint{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, URL: r.URL, Description: r.Description, Sealed: r.Sealed,
		Enabled: r.Enabled, Reason: r.Reason, Failures: r.Failures, FailingSince: db.FromMicros(r.FailingSince),
		FailureNotified: r.FailureNotified, SucceededAt: db.FromMicros(r.SucceededAt), Secret: r.Secret,
		PreviousUntil: db.FromMicros(r.PreviousUntil), Place: r.Place, CreatedBy: r.CreatedBy, Owner: r.Owner,
		Ownerless: r.Ownerless, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt),
		UpdatedAt: db.FromMicros(r.UpdatedAt), LeasedUntil: db.FromMicros(r.LeasedUntil),
	}
	if err := json.Unmarshal([]byte(r.Events), &e.Events); err != nil {
		return nil, err
	}
	return e, json.Unmarshal([]byte(r.Headers), &e.Headers)
}

func endpointsOf(rows []endpointRow) ([]webhook.Endpoint, error) {
	found := make([]webhook.Endpoint, len(rows))
	for i := range rows {
		e, err := rows[i].endpoint()
		if err != nil {
			return nil, err
		}
		found[i] = *e
	}
	return found, nil
}

// endpointArgs returns the values of the columns that may change, in the order of saveEndpoint.
func endpointArgs(e *webhook.Endpoint) ([]any, error) {
	events, err := json.Marshal(e.Events)
	if err != nil {
		return nil, err
	}
	headers, err := json.Marshal(append([]string{}, e.Headers...))
	if err != nil {
		return nil, err
	}
	return []any{e.URL, e.Description, string(events), string(headers), e.Sealed, e.Enabled, e.Reason, e.Failures,
		db.Micros(e.FailingSince), e.FailureNotified, db.Micros(e.SucceededAt), e.Secret,
		db.Micros(e.PreviousUntil), e.Place,
		e.Owner,
		e.Ownerless, e.Revision, db.Micros(e.UpdatedAt)}, nil
}

// List implements ports.Webhooks.
func (s *Webhooks) List(ctx context.Context, ws identity.WorkspaceID) ([]webhook.Endpoint, error) {
	var rows []endpointRow
	if err := s.db.List(ctx, &rows, `SELECT `+endpointColumns+` FROM webhooks t WHERE t.workspace_id = ?
		ORDER BY t.id DESC LIMIT ?`, ws, webhook.MaxEndpoints); err != nil {
		return nil, err
	}
	return endpointsOf(rows)
}

// Get implements ports.Webhooks.
func (s *Webhooks) Get(ctx context.Context, ws identity.WorkspaceID, id webhook.ID) (*webhook.Endpoint, error) {
	return s.db.findEndpoint(ctx, `t.id = ? AND t.workspace_id = ?`, id, ws)
}

// lockedEndpoint returns an endpoint that is about to change, or webhook.ErrNotFound.
func (store *Store) lockedEndpoint(
	ctx context.Context, ws identity.WorkspaceID, id webhook.ID,
) (*webhook.Endpoint, error) {
	return store.findEndpoint(ctx, `t.id = ? AND t.workspace_id = ?`+store.Dialect.Lock, id, ws)
}

// anyEndpoint returns an endpoint in any workspace, for the queue, which works for all of them.
func (store *Store) anyEndpoint(ctx context.Context, id webhook.ID) (*webhook.Endpoint, error) {
	return store.findEndpoint(ctx, `t.id = ?`, id)
}

func (store *Store) findEndpoint(ctx context.Context, condition string, args ...any) (*webhook.Endpoint, error) {
	var row endpointRow
	found, err := store.Get(ctx, &row, `SELECT `+endpointColumns+` FROM webhooks t WHERE `+condition, args...)
	if err == nil && !found {
		err = webhook.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return row.endpoint()
}

// Add implements ports.Webhooks.
func (s *Webhooks) Add(
	ctx context.Context, by identity.Actor, change func(count int, place int64) (*webhook.Endpoint, error),
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		var count int
		if _, err := tx.Get(ctx, &count, `SELECT COUNT(*) FROM webhooks WHERE workspace_id = ?`,
			by.Workspace); err != nil {
			return err
		}
		place, err := tx.LatestPlace(ctx, by.Org, by.Workspace)
		if err != nil {
			return err
		}
		e, err := change(count, place)
		if err != nil {
			return err
		}
		args, err := endpointArgs(e)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO webhooks (url, description, events, headers, sealed, enabled, reason,
			failures, failing_since, told, succeeded_at, secret, previous_until, place, owner_id, ownerless, revision,
			updated_at, id, org_id, workspace_id, due_at, leased_until, created_by, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
			append(args, e.ID, e.Org, e.Workspace, int64(never), e.CreatedBy, db.Micros(e.CreatedAt))...); err != nil {
			return err
		}
		return tx.Record(ctx, e.RecordedAt(e.Revision, string(e.ID)))
	})
}

// Update implements ports.Webhooks.
func (s *Webhooks) Update(ctx context.Context, by identity.Actor, id webhook.ID,
	change func(e *webhook.Endpoint, place int64) error) (e *webhook.Endpoint, err error) {
	err = s.db.inTx(ctx, func(tx *Store) (err error) {
		if e, err = tx.lockedEndpoint(ctx, by.Workspace, id); err != nil {
			return err
		}
		place, err := tx.LatestPlace(ctx, by.Org, by.Workspace)
		if err != nil {
			return err
		}
		wasEnabled := e.Enabled
		if err := change(e, place); err != nil {
			return err
		}
		if e.Deleted {
			if _, err := tx.Exec(ctx, `DELETE FROM webhooks WHERE id = ?`, e.ID); err != nil {
				return err
			}
			return tx.Record(ctx, e.RecordedAt(e.Revision, string(e.ID)))
		}
		if e.Enabled && !wasEnabled { // pending deliveries continue
			if err := tx.makeDue(ctx, e.ID, e.UpdatedAt); err != nil {
				return err
			}
		}
		return tx.saveEndpoint(ctx, e)
	})
	return e, err
}

func (store *Store) saveEndpoint(ctx context.Context, e *webhook.Endpoint) error {
	args, err := endpointArgs(e)
	if err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `UPDATE webhooks SET url = ?, description = ?, events = ?, headers = ?, sealed = ?,
		enabled = ?, reason = ?, failures = ?, failing_since = ?, told = ?, succeeded_at = ?, secret = ?,
		previous_until = ?, place = ?, owner_id = ?, ownerless = ?, revision = ?, updated_at = ? WHERE id = ?`,
		append(args, e.ID)...); err != nil {
		return err
	}
	return store.Record(ctx, e.RecordedAt(e.Revision, string(e.ID)))
}

// makeDue makes an endpoint due at a time, unless it is due earlier.
func (store *Store) makeDue(ctx context.Context, id webhook.ID, moment time.Time) error {
	_, err := store.Exec(ctx, `UPDATE webhooks SET due_at = ? WHERE id = ? AND (due_at > ? OR due_at = leased_until)`,
		db.Micros(moment), id, db.Micros(moment))
	return err
}

const deliveryColumns = `t.id, t.webhook_id, t.event_id, t.seq, t.type, t.subject, t.state, t.attempts, t.due_at,
	t.status, t.failure, t.answer, t.took, t.created_at, t.attempted_at`

type deliveryRow struct {
	ID          webhook.DeliveryID `db:"id"`
	Endpoint    webhook.ID         `db:"webhook_id"`
	Event       string             `db:"event_id"`
	Seq         int64              `db:"seq"`
	Type        string             `db:"type"`
	Subject     string             `db:"subject"`
	State       webhook.State      `db:"state"`
	Attempts    int                `db:"attempts"`
	Due         int64              `db:"due_at"`
	Status      int                `db:"status"`
	Failure     string             `db:"failure"`
	Answer      string             `db:"answer"`
	Took        int64              `db:"took"`
	CreatedAt   int64              `db:"created_at"`
	AttemptedAt int64              `db:"attempted_at"`
}

func (r *deliveryRow) delivery() webhook.Delivery {
	d := webhook.Delivery{
		ID: r.ID, Endpoint: r.Endpoint, State: r.State, Attempts: r.Attempts, Due: db.FromMicros(r.Due),
		Last: webhook.Outcome{Status: r.Status, Failure: r.Failure, Answer: r.Answer,
			Took: time.Duration(r.Took) * time.Microsecond},
		CreatedAt: db.FromMicros(r.CreatedAt), AttemptedAt: db.FromMicros(r.AttemptedAt),
	}
	if r.Due == never {
		d.Due = time.Time{}
	}
	d.Event.ID, d.Event.Seq, d.Event.Type, d.Event.Subject = r.Event, r.Seq, r.Type, r.Subject
	return d
}

// ofWorkspace is the condition that a delivery belongs to a webhook in a workspace.
const ofWorkspace = `EXISTS (SELECT 1 FROM webhooks w WHERE w.id = t.webhook_id AND w.workspace_id = ?)`

// Deliveries implements ports.Webhooks.
func (s *Webhooks) Deliveries(
	ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, f webhook.DeliveryFilter, q page.Query,
) (webhook.DeliveryPage, error) {
	// Deliveries are at most those of 30 days of one endpoint: filters need no index.
	conditions := db.NewConditions(`t.webhook_id = ? AND `+ofWorkspace, endpoint, ws)
	conditions.PageBounds(`t.id`, q.After, "")
	conditions.When(f.State != "", `t.state = ?`, f.State)
	conditions.When(f.Type != "", `t.type = ?`, f.Type)
	var rows []deliveryRow
	if err := s.db.List(ctx, &rows, `SELECT `+deliveryColumns+` FROM webhook_deliveries t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return webhook.DeliveryPage{}, err
	}
	found := db.Convert(rows, (*deliveryRow).delivery)
	return page.Cut(found, q.Limit, func(d webhook.Delivery) string { return string(d.ID) }), nil
}

// Retry implements ports.Webhooks.
func (s *Webhooks) Retry(ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, id webhook.DeliveryID,
	change func(*webhook.Delivery) error) (*webhook.Delivery, error) {
	var d webhook.Delivery
	err := s.db.inTx(ctx, func(tx *Store) error {
		var row deliveryRow
		found, err := tx.Get(ctx, &row, `SELECT `+deliveryColumns+` FROM webhook_deliveries t
			WHERE t.id = ? AND t.webhook_id = ? AND `+ofWorkspace+tx.Dialect.Lock, id, endpoint, ws)
		if err == nil && !found {
			err = webhook.ErrDeliveryNotFound
		}
		if err != nil {
			return err
		}
		d = row.delivery()
		if err := change(&d); err != nil {
			return err
		}
		if err := tx.saveDelivery(ctx, &d); err != nil {
			return err
		}
		return tx.makeDue(ctx, endpoint, d.Due)
	})
	return &d, err
}

func (store *Store) saveDelivery(ctx context.Context, d *webhook.Delivery) error {
	_, err := store.Exec(ctx, `UPDATE webhook_deliveries SET state = ?, attempts = ?, due_at = ?, status = ?, failure = ?,
		answer = ?, took = ?, attempted_at = ? WHERE id = ?`, d.State, d.Attempts, db.Micros(d.Due), d.Last.Status,
		d.Last.Failure, d.Last.Answer, d.Last.Took.Microseconds(), db.Micros(d.AttemptedAt), d.ID)
	return err
}

// Replay implements ports.Webhooks.
func (s *Webhooks) Replay(ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, all []webhook.Delivery,
	onlyFailed bool, now time.Time) (count int, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		count = 0
		if _, err := tx.lockedEndpoint(ctx, ws, endpoint); err != nil {
			return err
		}
		for i := range all {
			w := insertDelivery(endpoint, &all[i], ` DO UPDATE SET state = 'pending', attempts = 0, due_at = excluded.due_at,
				created_at = excluded.created_at WHERE webhook_deliveries.state <> 'pending'`)
			if onlyFailed {
				w = db.Write{Query: `UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = ?,
					created_at = ? WHERE webhook_id = ? AND event_id = ? AND state = 'failed'`,
					Args: []any{db.Micros(now), db.Micros(now), endpoint, all[i].Event.ID}}
			}
			n, err := tx.Exec(ctx, w.Query, w.Args...)
			if err != nil {
				return err
			}
			count += int(n)
		}
		return tx.makeDue(ctx, endpoint, now)
	})
	return count, err
}

// insertDelivery returns the write of a delivery, which waits for earlier pending ones about the same subject.
func insertDelivery(endpoint webhook.ID, d *webhook.Delivery, conflict string) db.Write {
	return db.Write{Query: `INSERT INTO webhook_deliveries (id, webhook_id, event_id, seq, type, subject, state, attempts,
		due_at, status, failure, answer, took, created_at, attempted_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, CASE WHEN EXISTS (SELECT 1 FROM webhook_deliveries o WHERE o.webhook_id = ?
			AND o.subject = ? AND o.state = 'pending' AND o.seq < ?) THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END,
			0, '', '', 0, ?, 0) ON CONFLICT (webhook_id, event_id)` + conflict,
		Args: []any{d.ID, endpoint, d.Event.ID, d.Event.Seq, d.Event.Type, d.Event.Subject, d.State, endpoint,
			d.Event.Subject,
			d.Event.Seq, int64(never), db.Micros(d.Due), db.Micros(d.CreatedAt)}}
}
