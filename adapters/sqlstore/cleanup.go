package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Sweep removes rows that are no longer needed: expired idempotency records, events older than retention, ended marks of notes, jobs
// that ended a week ago, events of payment gateways that were processed 90 days ago, keys of usage reports, old usage, probes that are too old
// for any limit, and templates and workspaces that can no longer be restored. It works in small transactions,
// so that other writers do not have to wait.
func (db *DB) Sweep(ctx context.Context, now time.Time, retention time.Duration) error {
	if _, err := db.exec(ctx, `UPDATE idempotency_keys SET body = ?, erase_at = 0 WHERE erase_at > 0 AND erase_at < ?`, []byte{}, micros(now)); err != nil {
		return err
	}
	for query, before := range map[string]time.Time{
		`DELETE FROM idempotency_keys WHERE scope IN (SELECT scope FROM idempotency_keys WHERE expires_at < ? LIMIT 1000)`:                                                         now,
		`DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE ended_at > 0 AND ended_at < ? LIMIT 1000)`:                                                                        now.Add(-jobsKept),
		`DELETE FROM payment_events WHERE (org_id, account, id) IN (SELECT org_id, account, id FROM payment_events WHERE ended_at > 0 AND ended_at < ? LIMIT 1000)`:                now.Add(-paymentEventsKept),
		`DELETE FROM probe_attempts WHERE scope IN (SELECT scope FROM probe_attempts WHERE last_at < ? LIMIT 1000)`:                                                                now.Add(-time.Hour),
		`DELETE FROM invitation_mails WHERE scope IN (SELECT scope FROM invitation_mails WHERE last_at < ? LIMIT 1000)`:                                                            now.Add(-mailsKept),
		`DELETE FROM usage_reports WHERE (workspace_id, report_key) IN (SELECT workspace_id, report_key FROM usage_reports WHERE created_at < ? LIMIT 1000)`:                       now.Add(-billing.UsageKeyLasts),
		`DELETE FROM feature_usage WHERE (workspace_id, period_start, feature) IN (SELECT workspace_id, period_start, feature FROM feature_usage WHERE updated_at < ? LIMIT 1000)`: now.Add(-featureUsageKept),
		`DELETE FROM event_marks WHERE mark IN (SELECT mark FROM event_marks WHERE until < ? LIMIT 1000)`:                                                                          now,
		`DELETE FROM prompt_templates WHERE id IN (SELECT id FROM prompt_templates WHERE deleted_at > 0 AND deleted_at < ? LIMIT 100)`:                                             now.Add(-access.RestoreWithin),
		`DELETE FROM chat_templates WHERE id IN (SELECT id FROM chat_templates WHERE deleted_at > 0 AND deleted_at < ? LIMIT 100)`:                                                 now.Add(-access.RestoreWithin),
		`DELETE FROM stream_tickets WHERE hash IN (SELECT hash FROM stream_tickets WHERE expires_at < ? LIMIT 1000)`:                                                               now,
	} {
		for {
			removed, err := db.exec(ctx, query, micros(before))
			if err != nil {
				return err
			}
			if removed == 0 {
				break
			}
		}
	}
	return errors.Join(db.sweepEvents(ctx, now.Add(-retention)), db.purgeWorkspaces(ctx, now.Add(-account.RestoreWithin)))
}

// paymentEventsKept is how long an event of a payment gateway is kept after it was processed: longer than gateways
// repeat one (Stripe: 3 days, and 30 by hand).
const paymentEventsKept = 90 * 24 * time.Hour

// featureUsageKept is how long the usage of a period is kept after its last report: longer than the longest period.
const featureUsageKept = 3 * 365 * 24 * time.Hour

// purgeWorkspaces removes workspaces that were deleted before a time, with all their content, and the programs
// that were members only there. Their events stay as long as all events do.
func (db *DB) purgeWorkspaces(ctx context.Context, before time.Time) error {
	var ids []identity.WorkspaceID
	if err := db.list(ctx, &ids, `SELECT id FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?`, micros(before)); err != nil {
		return err
	}
	for _, id := range ids {
		err := db.inTx(ctx, func(tx *DB) error {
			var programs []identity.UserID // those that have left the workspace have keys there still
			if err := tx.list(ctx, &programs, `SELECT id FROM users WHERE service AND id IN
				(SELECT user_id FROM memberships WHERE workspace_id = ? UNION SELECT user_id FROM api_keys WHERE workspace_id = ?)`, id, id); err != nil {
				return err
			}
			for _, table := range []string{"jobs", "sources", "source_memory", "connections", "payment_customers", "prompt_templates", "chat_templates", "invitations", "api_keys", "memberships"} {
				if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE workspace_id = ?`, id); err != nil {
					return err
				}
			}
			for _, program := range programs {
				if _, err := tx.exec(ctx, `DELETE FROM users WHERE id = ? AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = users.id)`, program); err != nil {
					return err
				}
			}
			_, err := tx.exec(ctx, `DELETE FROM workspaces WHERE id = ?`, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// KeyringCheck returns the value that the keyring must be able to open, after storing fresh if there
// is none yet.
func (db *DB) KeyringCheck(ctx context.Context, fresh []byte) (check []byte, err error) {
	err = db.inTx(ctx, func(tx *DB) error {
		if _, err := tx.exec(ctx, `INSERT INTO keyring (one, check_value) VALUES (1, ?) ON CONFLICT (one) DO NOTHING`, fresh); err != nil {
			return err
		}
		_, err := tx.get(ctx, &check, `SELECT check_value FROM keyring WHERE one = 1`)
		return err
	})
	return check, err
}

// DerivedSince returns the time from which data is sealed under derived keys. Until then nodes of v0.1.0 may run on
// this database. It returns the zero time if there never was one. Idempotency uses the result from now on.
func (db *DB) DerivedSince(ctx context.Context) (time.Time, error) {
	var at int64
	if _, err := db.get(ctx, &at, `SELECT derived_at FROM keyring WHERE one = 1`); err != nil {
		return time.Time{}, err
	}
	since := fromMicros(at)
	if at != 0 {
		db.derivedSince.Store(&since)
	}
	return since, nil
}
