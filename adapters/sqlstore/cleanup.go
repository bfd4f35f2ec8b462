package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/sqlstore/webhooks"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// Sweep removes rows that are no longer needed: expired idempotency records, events older than retention, ended marks
// of notes, used logout tokens, jobs that ended a week ago, events of payment gateways that were processed 90 days ago,
// keys of usage reports, old usage, probes that are too old for any limit, sessions, links and challenges that have
// expired, erased sign-ins and ended API keys after 90 days, invitations that expired 30 days ago, and templates and
// workspaces that can no longer be restored. It works in small transactions, so that other writers do not have to wait.
// An error in one kind of rows does not keep the others.
func (store *DB) Sweep(ctx context.Context, now time.Time, retention time.Duration) error {
	var failed []error
	note := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", what, err))
		}
	}
	note("secrets of responses", store.InBatches(ctx, `UPDATE idempotency_keys SET body = ?, erase_at = 0 WHERE scope IN
		(SELECT scope FROM idempotency_keys WHERE erase_at > 0 AND erase_at < ? LIMIT ?)`, []byte{}, db.Micros(now)))
	note("ends of sessions", store.sweepSessions(ctx, now))
	for _, e := range []struct {
		table, key string
		rows       []owned // that belong to them
		condition  string
		before     time.Time
	}{
		{"idempotency_keys", "scope", nil, "expires_at < ?", now},
		{"jobs", "id", nil, "ended_at > 0 AND ended_at < ?", now.Add(-jobs.Kept)},
		{"payment_events", "org_id, account, id", nil, "ended_at > 0 AND ended_at < ?",
			now.Add(-paymentEventsKept)},
		{"probe_attempts", "scope", nil, "last_at < ?", now.Add(-time.Hour)},
		{"invitation_mails", "scope", nil, "last_at < ?", now.Add(-mailsKept)},
		{"usage_reports", "workspace_id, report_key", nil, "created_at < ?", now.Add(-payment.UsageKeyLasts)},
		{"feature_usage", "workspace_id, period_start, feature", nil, "updated_at < ?",
			now.Add(-featureUsageKept)},
		{"webhook_deliveries", "id", nil, "created_at < ?", now.Add(-webhook.KeptFor)},
		{"event_marks", "mark", nil, "until < ?", now},
		{"prompt_templates", "id", promptRows, "deleted_at > 0 AND deleted_at < ?",
			now.Add(-access.RestoreWithin - restoreMargin)},
		{"chat_templates", "id", chatRows, "deleted_at > 0 AND deleted_at < ?",
			now.Add(-access.RestoreWithin - restoreMargin)},
		{"stream_tickets", "hash", nil, "expires_at < ?", now},
		{"sign_in_links", "hash", nil, "expires_at < ?", now},
		{"logout_tokens", "org_id, hash", nil, "expires_at < ?", now},
		{"sessions", "id", nil, "expires_at < ?", now},
		{"passkey_challenges", "hash", nil, "expires_at < ?", now},
		{"consent_states", "hash", nil, "expires_at < ?", now},
		{"erased_sign_ins", "org_id, digest", nil, "erased_at < ?", now.Add(-erasedSignInsKept)},
		{"stream_resumptions", "hash", nil, "expires_at < ?", now},
		{"api_keys", "id", keyRows, "revoked_at > 0 AND revoked_at < ? AND " + madeNone, now.Add(-endedKeysKept)},
		{"api_keys", "id", keyRows, "expires_at > 0 AND expires_at < ? AND " + madeNone, now.Add(-endedKeysKept)},
		{"chat_members", "template_id, user_id", nil, ofOldInvitation, now.Add(-invitationsKept)},
		{"invitations", "id", invitationRows, "expires_at < ?", now.Add(-invitationsKept)},
	} {
		note(e.table, store.remove(ctx, owned{e.table, e.key, "", e.rows}, e.condition, db.Micros(e.before)))
	}
	note("version_reads", store.remove(ctx, owned{"version_reads", "template_id, day, version_id", "", nil}, "day < ?",
		prompt.DayOf(now.Add(-prompt.ReadsKept))))
	note("key_requests", store.remove(ctx, keyRows[0], "day <= ?", account.DayOf(now)-account.RequestDays))
	note("events", store.Events().Sweep(ctx, now.Add(-retention)))
	note("webhook deliveries that wait", webhooks.NewStore(store.DB).WakeWaiting(ctx, now))
	note("workspaces", store.purgeWorkspaces(ctx, now.Add(-account.RestoreWithin-restoreMargin)))
	return errors.Join(failed...)
}

// endedKeysKept is how long an API key is kept after it has ended, so that its owner can see when it was used.
const endedKeysKept = 90 * 24 * time.Hour

// madeNone excludes keys that created others: a key ends with the key that created it, directly or indirectly, so no
// link of the chain may be missing.
const madeNone = `NOT EXISTS (SELECT 1 FROM api_keys made
	WHERE made.made_by_key <> '' AND made.made_by_key = api_keys.id)`

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
