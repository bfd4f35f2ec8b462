package prompts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what prompts add to what concerns all areas.
var Area = db.Area{
	Name:      "prompts",
	AddStores: addStores,
	Tables: []db.Table{
		{Name: "prompt_templates", Key: "id", Of: "workspaces", Owner: "deleted_at = 0 AND workspace_id"},
		{Name: "prompt_templates", Key: "id", Of: "workspaces", Owner: "deleted_at <> 0 AND workspace_id"},
		{Name: "version_reads", Key: "template_id, day, version_id", Of: "prompt_templates", Owner: "template_id"},
		{Name: "version_feedback", Key: "template_id, day, name, version_id",
			Of: "prompt_templates", Owner: "template_id"},
		{Name: "feedback_names", Key: "template_id", Of: "prompt_templates", Owner: "template_id"},
		{Name: "feedback_reports", Key: "template_id, report_key", Of: "prompt_templates", Owner: "template_id"},
		{Name: "feedback_comments", Key: "template_id, number", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_labels", Key: "template_id, label", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_rollouts", Key: "template_id, label, position", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_versions", Key: "id", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_includes", Key: "version_id, target_id, ref", Of: "prompt_versions", Owner: "version_id"},
		{Name: "prompt_checks", Key: "version_id, name", Of: "prompt_versions", Owner: "version_id"},
		{Name: "prompt_activations", Key: "template_id, number", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_label_moves", Key: "template_id, label, number", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_requests", Key: "id", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_shares", Key: "template_id, user_id", Of: "prompt_templates", Owner: "template_id"},
		{Name: "prompt_references", Key: "holder_id, prompt_id, ref", Of: "prompt_templates", Owner: "holder_id"},
		{Name: "prompt_references", Key: "holder_id, prompt_id, ref", Of: "prompt_templates", Owner: "prompt_id"},
		{Name: "prompt_references", Key: "holder_id, prompt_id, ref", Of: "chat_templates", Owner: "holder_id"},
		{Name: "prompt_folder_shares", Key: "id", Of: "workspaces", Owner: "workspace_id"},
	},
	Expiries: []db.Expiry{
		{Table: "prompt_templates", Key: "id", Condition: "deleted_at > 0 AND deleted_at < ?",
			Kept: access.RestoreWithin + db.RestoreMargin},
		{Table: "feedback_reports", Key: "template_id, report_key", Condition: "created_at < ?",
			Kept: prompt.FeedbackKeyLasts},
		{Table: "feedback_comments", Key: "template_id, number", Condition: "created_at < ?",
			Kept: prompt.FeedbackKept},
	},
	Sweep: sweep,
	Exports: []db.Section{
		{Name: "prompt_shares", Users: 1,
			Query: `SELECT s.template_id, s.workspace_id, s.access, s.granted_by, s.created_at, s.expires_at
				FROM prompt_shares s JOIN workspaces w ON w.id = s.workspace_id
				WHERE w.org_id = ? AND s.user_id = ? ORDER BY s.created_at DESC`},
		{Name: "prompt_folder_shares", Users: 1,
			Query: `SELECT s.folder, s.workspace_id, s.access, s.granted_by, s.created_at, s.expires_at
				FROM prompt_folder_shares s JOIN workspaces w ON w.id = s.workspace_id
				WHERE w.org_id = ? AND s.user_id = ? ORDER BY s.created_at DESC`},
		{Name: "prompt_templates", Users: 2,
			Query: `SELECT t.id, t.workspace_id, t.name, t.created_at, t.deleted_at FROM prompt_templates t
				JOIN workspaces w ON w.id = t.workspace_id WHERE w.org_id = ? AND (t.owner_id = ? OR t.created_by = ?)
				ORDER BY t.id DESC`},
	},
	Erasures: []db.Erasure{
		{Query: `DELETE FROM prompt_shares WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?)
			AND user_id = ?`, Args: (*db.ErasedPerson).ByUser, Count: db.Shares},
		{Query: `DELETE FROM prompt_folder_shares WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?)
			AND user_id = ?`, Args: (*db.ErasedPerson).ByUser, Count: db.Shares},
	},
}

// sweep removes the counts of reads and the feedback that are older than prompt.ReadsKept and prompt.FeedbackKept.
func sweep(ctx context.Context, d *db.DB, now time.Time, _ time.Duration) error {
	if err := d.InBatches(ctx, `DELETE FROM version_feedback WHERE (template_id, day, name, version_id) IN (SELECT
		template_id, day, name, version_id FROM version_feedback WHERE day < ? LIMIT ?)`,
		prompt.DayOf(now.Add(-prompt.FeedbackKept))); err != nil {
		return err
	}
	return d.InBatches(ctx, `DELETE FROM version_reads WHERE (template_id, day, version_id) IN (SELECT template_id, day,
		version_id FROM version_reads WHERE day < ? LIMIT ?)`, prompt.DayOf(now.Add(-prompt.ReadsKept)))
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Prompts = &Prompts{store}
	s.PromptLists = &Lists{store}
	s.PromptReads = &Reads{store}
	s.PromptFeedback = &Feedback{store}
	s.PromptFolders = &Folders{store}
}
