package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// owned is a table whose rows are removed together with the row that they belong to. The database would do that in one
// statement (ON DELETE CASCADE), however many there are.
type owned struct {
	table, key string // the primary key: one column if the table has rows of its own
	owner      string // the column that names the row that they belong to, after what an index of it requires
	rows       []owned
}

// promptRows are the rows of a prompt template, in the order of their removal.
var promptRows = []owned{
	{"version_reads", "template_id, day, version_id", "template_id", nil},
	{"prompt_labels", "template_id, label", "template_id", nil},
	{"prompt_rollouts", "template_id, label, position", "template_id", nil},
	{"prompt_versions", "id", "template_id", []owned{
		{"prompt_includes", "version_id, target_id, ref", "version_id", nil},
		{"prompt_checks", "version_id, name", "version_id", nil},
	}},
	{"prompt_activations", "template_id, number", "template_id", nil},
	{"prompt_label_moves", "template_id, label, number", "template_id", nil},
	{"prompt_requests", "id", "template_id", nil},
	{"prompt_shares", "template_id, user_id", "template_id", nil},
	{"prompt_references", "holder_id, prompt_id, ref", "holder_id", nil},
	{"prompt_references", "holder_id, prompt_id, ref", "prompt_id", nil},
}

// chatRows are the rows of a chat template.
var chatRows = []owned{
	{"chat_members", "template_id, user_id", "template_id", nil},
	{"chat_embed_tokens", "id", "template_id", []owned{
		{"chat_embed_origins", "org_id, pattern, token_id", "token_id", nil},
		{"chat_embed_days", "token_id, day, origin", "token_id", nil},
	}},
	{"chat_versions", "id", "template_id", nil},
	{"chat_publications", "template_id, number", "template_id", nil},
	{"prompt_references", "holder_id, prompt_id, ref", "holder_id", nil},
}

var (
	keyRows        = []owned{{"key_requests", "key_id, day", "key_id", nil}}
	connectionRows = []owned{{"connection_credentials", "connection_id", "connection_id", nil}}
	invitationRows = []owned{{"invitation_links", "hash", "invitation_id", nil}}
)

// workspaceRows are the rows of a workspace, apart from its programs and groups, which removeProgram removes. The
// counts of its use are first: otherwise the removal of each further row would change them.
var workspaceRows = []owned{
	{"workspace_usage", "workspace_id", "workspace_id", nil},
	{"workspace_usage_parts", "workspace_id, part", "workspace_id", nil},
	{"jobs", "id", "workspace_id", nil},
	{"sources", "id", "workspace_id", []owned{
		{"source_validations", "source_id", "source_id", nil},
		{"source_tracked", "source_id", "source_id", nil},
		{"source_changes", "source_id, number", "source_id", nil},
	}},
	{"source_memory", "workspace_id, type, column_name", "workspace_id", nil},
	{"connections", "id", "revoked_at = 0 AND workspace_id", connectionRows},
	{"connections", "id", "revoked_at > 0 AND workspace_id", connectionRows},
	{"payment_methods", "workspace_id, account, id", "workspace_id", nil},
	{"payment_subscriptions", "workspace_id, account, id", "workspace_id", nil},
	{"payment_invoices", "workspace_id, account, id", "workspace_id", nil},
	{"payment_customers", "workspace_id, account", "workspace_id", nil},
	{"feature_usage", "workspace_id, period_start, feature", "workspace_id", nil},
	{"usage_events", "workspace_id, id", "workspace_id", nil},
	{"usage_reports", "workspace_id, report_key", "workspace_id", nil},
	{"prompt_templates", "id", "deleted_at = 0 AND workspace_id", promptRows},
	{"prompt_templates", "id", "deleted_at <> 0 AND workspace_id", promptRows},
	{"prompt_folder_shares", "id", "workspace_id", nil},
	{"chat_templates", "id", "deleted_at = 0 AND workspace_id", chatRows},
	{"chat_templates", "id", "deleted_at > 0 AND workspace_id", chatRows},
	{"webhooks", "id", "workspace_id", []owned{{"webhook_deliveries", "id", "webhook_id", nil}}},
	{"stream_counts", "workspace_id, node", "workspace_id", nil},
	{"captured_members", "workspace_id, user_id", "workspace_id", nil},
	{"invitations", "id", "workspace_id", invitationRows},
	{"group_people", "group_id, user_id", "workspace_id", nil},
}

// peopleRows are the rows of a workspace that are removed after its programs, which they lead to.
var peopleRows = []owned{
	{"api_keys", "id", "workspace_id", keyRows},
	{"user_groups", "id", "workspace_id", nil},
	{"memberships", "workspace_id, user_id", "workspace_id", nil},
}

// remove removes the rows of o.table that meet a condition, in batches, and before each of them the rows that belong to
// it. It ignores o.owner.
func (store *DB) remove(ctx context.Context, o owned, condition string, args ...any) error {
	if len(o.rows) == 0 {
		return store.InBatches(ctx, `DELETE FROM `+o.table+` WHERE (`+o.key+`) IN (SELECT `+o.key+` FROM `+o.table+
			` WHERE `+condition+` LIMIT ?)`, args...)
	}
	for {
		var ids []string
		if err := store.List(ctx, &ids, `SELECT `+o.key+` FROM `+o.table+` WHERE `+condition+` LIMIT ?`,
			append(args, db.SweepBatch)...); err != nil || len(ids) == 0 {
			return err
		}
		for _, rows := range o.rows {
			within := &db.Conditions{}
			db.OneOf(within, rows.owner, ids)
			if err := store.remove(ctx, rows, within.SQL(), within.Args()...); err != nil {
				return err
			}
		}
		ended := db.NewConditions(condition, args...)
		db.OneOf(ended, o.key, ids)
		if removed, err := store.Exec(ctx, `DELETE FROM `+o.table+` WHERE `+ended.SQL(), ended.Args()...); removed == 0 ||
			err != nil {
			return err
		}
	}
}

// restoreMargin is how much longer than it can be restored a deleted object is kept: the clocks of nodes differ, and a
// restore that began in time may be stored later. What belongs to the object is removed before it, in transactions of
// their own.
const restoreMargin = time.Hour

// purgeWorkspaces removes workspaces that were deleted before a time, with all their content, and the programs that
// were members only there. Their events stay as long as all events do. An error in one workspace does not keep the
// others.
func (store *DB) purgeWorkspaces(ctx context.Context, before time.Time) error {
	var ids []identity.WorkspaceID
	if err := store.List(ctx, &ids, `SELECT id FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?`,
		db.Micros(before)); err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		if err := store.purgeWorkspace(ctx, id); err != nil {
			failed = append(failed, fmt.Errorf("workspace %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

func (store *DB) purgeWorkspace(ctx context.Context, id identity.WorkspaceID) error {
	for _, rows := range workspaceRows {
		if err := store.remove(ctx, rows, rows.owner+` = ?`, id); err != nil {
			return err
		}
	}
	// Programs that have left the workspace still have keys there.
	var programs []identity.UserID
	if err := store.List(ctx, &programs, `SELECT id FROM users WHERE service AND id IN
		(SELECT user_id FROM memberships WHERE workspace_id = ? UNION SELECT user_id FROM api_keys
		WHERE workspace_id = ? UNION SELECT id FROM user_groups WHERE workspace_id = ?)`, id, id, id); err != nil {
		return err
	}
	for _, program := range programs {
		for left := true; left; {
			var err error
			if left, err = store.removeProgram(ctx, id, program); err != nil {
				return err
			}
		}
	}
	for _, rows := range peopleRows {
		if err := store.remove(ctx, rows, rows.owner+` = ?`, id); err != nil {
			return err
		}
	}
	_, err := store.Exec(ctx, `DELETE FROM workspaces WHERE id = ?`, id)
	return err
}

// removeProgram removes some keys of a program or group in a workspace, and reports whether it has more. With the last
// one it removes the program, unless another workspace has it too: nothing would lead to it without a key.
func (store *DB) removeProgram(
	ctx context.Context, ws identity.WorkspaceID, program identity.UserID,
) (left bool, err error) {
	const atOnce = 10 // a key has up to a row for each of account.RequestDays
	err = store.inTx(ctx, func(tx *DB) error {
		if _, err := tx.Exec(ctx, `DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE workspace_id = ?
			AND user_id = ? LIMIT ?)`, ws, program, atOnce); err != nil {
			return err
		}
		var one int
		if left, err = tx.Get(ctx, &one, `SELECT 1 FROM api_keys WHERE workspace_id = ? AND user_id = ? LIMIT 1`, ws,
			program); left || err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM user_groups WHERE workspace_id = ? AND id = ?`,
			`DELETE FROM memberships WHERE workspace_id = ? AND user_id = ?`,
		} {
			if _, err := tx.Exec(ctx, query, ws, program); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `DELETE FROM users WHERE id = ?
			AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = users.id)
			AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.user_id = users.id)
			AND NOT EXISTS (SELECT 1 FROM prompt_templates p WHERE p.owner_id = users.id)
			AND NOT EXISTS (SELECT 1 FROM chat_templates c WHERE c.owner_id = users.id)`, program)
		return err
	})
	return left, err
}

// Overdue is what the sweep should have removed a day ago: it did not run, or failed.
type Overdue struct {
	Workspaces int `db:"workspaces"`
	Prompts    int `db:"prompts"`
	Chats      int `db:"chats"`
}

// Overdue returns how many deleted workspaces and templates are kept a day longer than they can be restored.
func (store *DB) Overdue(ctx context.Context, now time.Time) (o Overdue, err error) {
	const day = 24 * time.Hour
	before, templatesBefore := db.Micros(now.Add(-account.RestoreWithin-day)),
		db.Micros(now.Add(-access.RestoreWithin-day))
	_, err = store.Get(ctx, &o, `SELECT
		(SELECT COUNT(*) FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?) AS workspaces,
		(SELECT COUNT(*) FROM prompt_templates WHERE deleted_at > 0 AND deleted_at < ?) AS prompts,
		(SELECT COUNT(*) FROM chat_templates WHERE deleted_at > 0 AND deleted_at < ?) AS chats`,
		before, templatesBefore, templatesBefore)
	return o, err
}

// ClaimSweep reports whether the caller is the one to sweep now: no node has begun to within the interval.
func (store *DB) ClaimSweep(ctx context.Context, now time.Time, interval time.Duration) (bool, error) {
	// a time in the future is that of a clock that was wrong
	claimed, err := store.Exec(ctx, `UPDATE keyring SET swept_at = ? WHERE one = 1 AND (swept_at <= ? OR swept_at > ?)`,
		db.Micros(now), db.Micros(now.Add(-interval)), db.Micros(now))
	return claimed > 0, err
}
