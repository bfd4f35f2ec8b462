package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// Sweep removes rows that are no longer needed: expired idempotency records, events older than retention, ended marks
// of notes, used logout tokens, jobs that ended a week ago, events of payment gateways that were processed 90 days ago,
// keys of usage reports, old usage, probes that are too old for any limit, sessions, links and challenges that have
// expired, erased sign-ins and ended API keys after 90 days, invitations that expired 30 days ago, and templates and
// workspaces that can no longer be restored. It works in small transactions, so that other writers do not have to wait.
func (db *DB) Sweep(ctx context.Context, now time.Time, retention time.Duration) error {
	if _, err := db.exec(ctx, `UPDATE idempotency_keys SET body = ?, erase_at = 0 WHERE erase_at > 0 AND erase_at < ?`,
		[]byte{}, micros(now)); err != nil {
		return err
	}
	if err := db.sweepSessions(ctx, now); err != nil {
		return err
	}
	for _, e := range []struct {
		table, key, condition string
		before                time.Time
		rows                  int // in a transaction: a template is removed with its versions
	}{
		{"idempotency_keys", "scope", "expires_at < ?", now, 1000},
		{"jobs", "id", "ended_at > 0 AND ended_at < ?", now.Add(-jobsKept), 1000},
		{"payment_events", "org_id, account, id", "ended_at > 0 AND ended_at < ?", now.Add(-paymentEventsKept), 1000},
		{"probe_attempts", "scope", "last_at < ?", now.Add(-time.Hour), 1000},
		{"invitation_mails", "scope", "last_at < ?", now.Add(-mailsKept), 1000},
		{"usage_reports", "workspace_id, report_key", "created_at < ?", now.Add(-billing.UsageKeyLasts), 1000},
		{"feature_usage", "workspace_id, period_start, feature", "updated_at < ?", now.Add(-featureUsageKept), 1000},
		{"webhook_deliveries", "id", "created_at < ?", now.Add(-webhook.KeptFor), 1000},
		{"event_marks", "mark", "until < ?", now, 1000},
		{"prompt_templates", "id", "deleted_at > 0 AND deleted_at < ?", now.Add(-access.RestoreWithin), 100},
		{"chat_templates", "id", "deleted_at > 0 AND deleted_at < ?", now.Add(-access.RestoreWithin), 100},
		{"stream_tickets", "hash", "expires_at < ?", now, 1000},
		{"sign_in_links", "hash", "expires_at < ?", now, 1000},
		{"logout_tokens", "org_id, hash", "expires_at < ?", now, 1000},
		{"sessions", "id", "expires_at < ?", now, 1000},
		{"passkey_challenges", "hash", "expires_at < ?", now, 1000},
		{"consent_states", "hash", "expires_at < ?", now, 1000},
		{"erased_sign_ins", "org_id, digest", "erased_at < ?", now.Add(-erasedSignInsKept), 1000},
		{"stream_resumptions", "hash", "expires_at < ?", now, 1000},
		{"api_keys", "id", "revoked_at > 0 AND revoked_at < ? AND " + madeNone, now.Add(-endedKeysKept), 1000},
		{"api_keys", "id", "expires_at > 0 AND expires_at < ? AND " + madeNone, now.Add(-endedKeysKept), 1000},
		{"chat_members", "template_id, user_id", ofOldInvitation, now.Add(-invitationsKept), 1000},
		{"invitations", "id", "expires_at < ?", now.Add(-invitationsKept), 1000},
	} {
		if err := db.sweep(ctx, e.table, e.key, e.condition, e.before, e.rows); err != nil {
			return err
		}
	}
	for removed := int64(1); removed > 0; {
		var err error
		if removed, err = db.exec(ctx, `DELETE FROM version_reads WHERE (template_id, day, version_id) IN
			(SELECT template_id, day, version_id FROM version_reads WHERE day < ? LIMIT 1000)`,
			prompt.DayOf(now.Add(-prompt.ReadsKept))); err != nil {
			return err
		}
	}
	for removed := int64(1); removed > 0; {
		var err error
		if removed, err = db.exec(ctx, `DELETE FROM key_requests WHERE (key_id, day) IN
			(SELECT key_id, day FROM key_requests WHERE day <= ? LIMIT 1000)`,
			account.DayOf(now)-account.RequestDays); err != nil {
			return err
		}
	}
	return errors.Join(db.sweepEvents(ctx, now.Add(-retention)), db.wakeWaiting(ctx, now),
		db.purgeWorkspaces(ctx, now.Add(-account.RestoreWithin)))
}

// sweep removes the rows of a table that meet a condition on a time, at most limit in a transaction.
func (db *DB) sweep(ctx context.Context, table, key, condition string, before time.Time, limit int) error {
	query := `DELETE FROM ` + table + ` WHERE (` + key + `) IN (SELECT ` + key + ` FROM ` + table +
		` WHERE ` + condition + ` LIMIT ?)`
	for {
		if removed, err := db.exec(ctx, query, micros(before), limit); removed == 0 || err != nil {
			return err
		}
	}
}

// endedKeysKept is how long an API key is kept after it has ended, so that its owner can see when it was used.
const endedKeysKept = 90 * 24 * time.Hour

// madeNone excludes keys that created others: a key ends with the key that created it, directly or indirectly, so no
// link of the chain may be missing.
const madeNone = "NOT EXISTS (SELECT 1 FROM api_keys made WHERE made.made_by_key = api_keys.id)"

// invitationsKept is how long an invitation is kept after its link has expired.
const invitationsKept = 30 * 24 * time.Hour

// ofOldInvitation finds the members of chats that an expired invitation was for. Their user ids are reserved for the
// invited person (account.InvitationID.Reserved).
const ofOldInvitation = "invited AND (workspace_id, user_id) IN " +
	"(SELECT workspace_id, 'usr_' || substr(id, 5) FROM invitations WHERE expires_at < ?)"

// paymentEventsKept is how long an event of a payment gateway is kept after it was processed: longer than gateways
// repeat one (Stripe: 3 days, and 30 by hand).
const paymentEventsKept = 90 * 24 * time.Hour

// featureUsageKept is how long the usage of a period is kept after its last report: longer than the longest period.
const featureUsageKept = 3 * 365 * 24 * time.Hour

// purgeWorkspaces removes workspaces that were deleted before a time, with all their content, and the programs
// that were members only there. Their events stay as long as all events do.
func (db *DB) purgeWorkspaces(ctx context.Context, before time.Time) error {
	var ids []identity.WorkspaceID
	if err := db.list(ctx, &ids, `SELECT id FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?`,
		micros(before)); err != nil {
		return err
	}
	for _, id := range ids {
		err := db.inTx(ctx, func(tx *DB) error {
			var programs []identity.UserID // programs that have left the workspace still have keys there
			if err := tx.list(ctx, &programs, `SELECT id FROM users WHERE service AND id IN
				(SELECT user_id FROM memberships WHERE workspace_id = ? UNION SELECT user_id FROM api_keys
				WHERE workspace_id = ? UNION SELECT id FROM user_groups WHERE workspace_id = ?)`, id, id, id); err != nil {
				return err
			}
			for _, table := range []string{"jobs", "sources", "source_memory", "connections", "payment_customers",
				"prompt_templates", "prompt_folder_shares", "chat_templates", "invitations", "api_keys",
				"user_groups", "memberships"} {
				if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE workspace_id = ?`, id); err != nil {
					return err
				}
			}
			for _, program := range programs {
				if _, err := tx.exec(ctx, `DELETE FROM users WHERE id = ? AND NOT EXISTS (SELECT 1 FROM memberships m
					WHERE m.user_id = users.id)`, program); err != nil {
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
	const stored = `SELECT check_value FROM keyring WHERE one = 1`
	if found, err := db.get(ctx, &check, stored); found || err != nil {
		return check, err // every start but the first one, which need not write
	}
	if _, err := db.exec(ctx, `INSERT INTO keyring (one, check_value) VALUES (1, ?) ON CONFLICT (one) DO NOTHING`,
		fresh); err != nil {
		return nil, err
	}
	_, err = db.get(ctx, &check, stored)
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
