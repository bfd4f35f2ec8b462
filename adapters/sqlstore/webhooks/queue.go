package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Queue hands webhook endpoints to nodes.
type Queue struct {
	db      *Store
	enqueue db.Enqueue
}

var _ ports.WebhookQueue = (*Queue)(nil)

// NewQueue returns the queue of a database.
func NewQueue(d *db.DB, enqueue db.Enqueue) *Queue { return &Queue{NewStore(d), enqueue} }

// Take implements ports.WebhookQueue. A lease is taken by a condition on the row, so that no lock is needed. While an
// endpoint is leased, due_at is the lease's expiry, unless the endpoint has become due.
func (s *Queue) Take(ctx context.Context, now time.Time, lease time.Duration, n int,
	exceptions []identity.OrgID) (endpoints []webhook.Endpoint, err error) {
	free := `enabled AND due_at <= ? AND leased_until < ` + s.db.Dialect.Now
	conditions := db.NewConditions(free, db.Micros(now))
	if len(exceptions) > 0 {
		conditions.When(true, `t.org_id NOT IN (`+db.Placeholders(len(exceptions))+`)`, db.AppendAll(nil, exceptions)...)
	}
	var ids []webhook.ID
	if err := s.db.List(ctx, &ids, `SELECT t.id FROM webhooks t WHERE `+conditions.SQL()+` ORDER BY t.due_at LIMIT ?`,
		conditions.Args(n)...); err != nil {
		return nil, err
	}
	end := s.db.Dialect.Now + ` + ?`
	for _, id := range ids {
		count, err := s.db.Exec(ctx, `UPDATE webhooks SET leased_until = `+end+`, due_at = `+end+`
			WHERE id = ? AND `+free, lease.Microseconds(), lease.Microseconds(), id, db.Micros(now))
		if err != nil {
			return endpoints, err
		}
		if count == 0 {
			continue // another node was faster
		}
		e, err := s.db.anyEndpoint(ctx, id)
		if errors.Is(err, webhook.ErrNotFound) {
			continue
		}
		if err != nil {
			return endpoints, err
		}
		endpoints = append(endpoints, *e)
	}
	return endpoints, nil
}

// Renew implements ports.WebhookQueue.
func (s *Queue) Renew(ctx context.Context, e *webhook.Endpoint,
	lease time.Duration) (expiry time.Time, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		end := tx.Dialect.Now + ` + ?`
		count, err := tx.Exec(ctx, `UPDATE webhooks SET leased_until = `+end+`,
			due_at = CASE WHEN due_at = leased_until THEN `+end+` ELSE due_at END
			WHERE id = ? AND leased_until = ?`, lease.Microseconds(), lease.Microseconds(), e.ID, db.Micros(e.LeasedUntil))
		if err != nil {
			return err
		}
		if count == 0 {
			return webhook.ErrLeaseLost
		}
		var micros int64
		_, err = tx.Get(ctx, &micros, `SELECT leased_until FROM webhooks WHERE id = ?`, e.ID)
		expiry = db.FromMicros(micros)
		return err
	})
	return expiry, err
}

// Queue implements ports.WebhookQueue.
func (s *Queue) Queue(ctx context.Context, e *webhook.Endpoint, all []webhook.Delivery, place int64) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		count, err := tx.Exec(ctx, `UPDATE webhooks SET place = ? WHERE id = ? AND place = ?
			AND leased_until = ?`, place, e.ID, e.Place, db.Micros(e.LeasedUntil))
		if err != nil || count == 0 { // leased by another node, or disabled and enabled again, which has set the place
			return err
		}
		for i := range all {
			if err := tx.Run(ctx, insertDelivery(e.ID, &all[i], ` DO NOTHING`)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pending implements ports.WebhookQueue.
func (s *Queue) Pending(ctx context.Context, endpoint webhook.ID) (n int, err error) {
	_, err = s.db.Get(ctx, &n, `SELECT COUNT(*) FROM webhook_deliveries WHERE webhook_id = ? AND state = 'pending'
		AND due_at < ?`, endpoint, int64(never))
	return n, err
}

// isFirst is the condition that no earlier delivery about the same subject is pending.
const isFirst = `NOT EXISTS (SELECT 1 FROM webhook_deliveries o WHERE o.webhook_id = t.webhook_id
	AND o.subject = t.subject AND o.state = 'pending' AND o.seq < t.seq)`

// Next implements ports.WebhookQueue.
func (s *Queue) Next(ctx context.Context, endpoint webhook.ID, now time.Time, n int) ([]webhook.Delivery, error) {
	var rows []struct {
		deliveryRow
		Org       *identity.OrgID      `db:"org_id"` // nil: retention has removed the event
		Workspace identity.WorkspaceID `db:"workspace_id"`
		Actor     identity.UserID      `db:"actor_id"`
		Data      []byte               `db:"data"`
		At        int64                `db:"event_at"`
		Revision  int64                `db:"event_revision"`
	}
	if err := s.db.List(ctx, &rows, `SELECT `+deliveryColumns+`, e.org_id, COALESCE(e.workspace_id, '') AS workspace_id,
			COALESCE(e.actor_id, '') AS actor_id, e.data, COALESCE(e.created_at, 0) AS event_at,
			COALESCE(e.revision, 0) AS event_revision
		FROM webhook_deliveries t LEFT JOIN events e ON e.id = t.event_id
		WHERE t.webhook_id = ? AND t.state = 'pending' AND t.due_at <= ? AND `+isFirst+` ORDER BY t.seq LIMIT ?`,
		endpoint, db.Micros(now), n); err != nil {
		return nil, err
	}
	found := make([]webhook.Delivery, len(rows))
	for i := range rows {
		r := &rows[i]
		if found[i] = r.delivery(); r.Org == nil {
			found[i].EventRemoved = true
			continue
		}
		found[i].Event = event.Event{ID: r.deliveryRow.Event, Org: *r.Org, Workspace: r.Workspace, Type: r.Type,
			Actor: r.Actor, Subject: r.Subject, At: db.FromMicros(r.At), Seq: r.Seq, Revision: r.Revision}
		if err := json.Unmarshal(r.Data, &found[i].Event.Data); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// wakeNext returns the write that makes the first pending delivery about a subject due, if it waited for another one.
func wakeNext(endpoint webhook.ID, subject string, now time.Time) db.Write {
	return db.Write{Query: `UPDATE webhook_deliveries SET due_at = ? WHERE due_at = ? AND id = (SELECT o.id
		FROM webhook_deliveries o WHERE o.webhook_id = ? AND o.subject = ? AND o.state = 'pending'
		ORDER BY o.seq LIMIT 1)`, Args: []any{db.Micros(now), int64(never), endpoint, subject}}
}

// wakeWaiting makes deliveries due that wait for a delivery that no longer exists: it was older than webhook.KeptFor,
// or the previous release, which wakes none, finished it.
func (store *Store) wakeWaiting(ctx context.Context, now time.Time) error {
	if err := store.InBatches(ctx, `UPDATE webhook_deliveries SET due_at = ? WHERE id IN (SELECT t.id
		FROM webhooks w CROSS JOIN webhook_deliveries t
		WHERE t.webhook_id = w.id AND t.state = 'pending' AND t.due_at = ? AND `+isFirst+` LIMIT ?)`, db.Micros(now),
		int64(never)); err != nil {
		return err
	}
	return store.InBatches(ctx, `UPDATE webhooks SET due_at = ? WHERE id IN (SELECT w.id FROM webhooks w WHERE w.enabled
		AND w.due_at > ? AND EXISTS (SELECT 1 FROM webhook_deliveries t WHERE t.webhook_id = w.id
		AND t.state = 'pending' AND t.due_at = ?) LIMIT ?)`, db.Micros(now), db.Micros(now), db.Micros(now))
}

// Settle implements ports.WebhookQueue.
func (s *Queue) Settle(ctx context.Context, by identity.Actor, lease *webhook.Endpoint,
	attempts []webhook.Delivery, change func(*webhook.Endpoint) []job.Job) (e *webhook.Endpoint, err error) {
	err = s.db.inTx(ctx, func(tx *Store) (err error) {
		if e, err = tx.lockedEndpoint(ctx, by.Workspace, lease.ID); err != nil {
			return err
		}
		if !e.LeasedUntil.Equal(lease.LeasedUntil) {
			return webhook.ErrLeaseLost
		}
		for i := range attempts {
			if err := tx.saveDelivery(ctx, &attempts[i]); err != nil {
				return err
			}
			if attempts[i].State == webhook.Pending {
				continue
			}
			if err := tx.Run(ctx, wakeNext(lease.ID, attempts[i].Event.Subject, by.At)); err != nil {
				return err
			}
		}
		for _, j := range change(e) {
			if err := s.enqueue(ctx, tx.DB, j); err != nil {
				return err
			}
		}
		return tx.saveEndpoint(ctx, e)
	})
	return e, err
}

// Release implements ports.WebhookQueue. An event that was linked during the lease has made the endpoint due earlier.
func (s *Queue) Release(ctx context.Context, e *webhook.Endpoint, due time.Time) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var row struct {
			Due   int64 `db:"due_at"`
			Lease int64 `db:"leased_until"`
		}
		isHeld, err := tx.Get(ctx, &row, `SELECT t.due_at, t.leased_until FROM webhooks t WHERE t.id = ?
			AND t.leased_until = ?`+tx.Dialect.Lock, e.ID, db.Micros(e.LeasedUntil))
		if err != nil || !isHeld {
			return err
		}
		next := db.Micros(due)
		if due.IsZero() {
			next = never
			if _, err := tx.Get(ctx, &next, `SELECT COALESCE(MIN(t.due_at), ?) FROM webhook_deliveries t
				WHERE t.webhook_id = ? AND t.state = 'pending' AND t.due_at < ? AND `+isFirst,
				int64(never), e.ID, int64(never)); err != nil {
				return err
			}
		}
		if row.Due != row.Lease { // made due while it was leased
			next = min(next, row.Due)
		}
		_, err = tx.Exec(ctx, `UPDATE webhooks SET leased_until = 0, due_at = ? WHERE id = ?`, next, e.ID)
		return err
	})
}

// Wake returns the write that makes due the workspace's endpoints that can get its new events. Failing endpoints are
// tried at their scheduled time, if they have one.
func Wake(ws identity.WorkspaceID, now time.Time) db.Write {
	return db.Write{Query: `UPDATE webhooks SET due_at = ? WHERE workspace_id = ? AND enabled
		AND (due_at > ? OR due_at = leased_until) AND (failures < ? OR due_at = ?)`,
		Args: []any{db.Micros(now), ws, db.Micros(now), webhook.SoloFailures, int64(never)}}
}
