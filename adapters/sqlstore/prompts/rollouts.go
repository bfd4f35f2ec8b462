package prompts

import (
	"context"
	"encoding/hex"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Rollouts implements ports.Prompts.
func (p *Prompts) Rollouts(ctx context.Context, by identity.Actor, id prompt.ID) ([]prompt.Rollout, error) {
	return p.db.rollouts(ctx, by.Workspace, id)
}

// rollouts returns a template's rollouts. A rollout counts only while its label is on the first of its versions.
func (store *Store) rollouts(ctx context.Context, ws identity.WorkspaceID, id prompt.ID) ([]prompt.Rollout, error) {
	var rows []struct {
		Label   string           `db:"label"`
		Seed    string           `db:"seed"`
		Version prompt.VersionID `db:"version_id"`
		Number  int              `db:"number"`
		Slots   string           `db:"slots"`
		Guard   string           `db:"guard"`
		Since   prompt.Day       `db:"since"`
		Warned  int64            `db:"warned_at"`
	}
	if err := store.List(ctx, &rows, `SELECT r.label, r.seed, r.version_id, v.number, r.slots, r.guard,
			r.since, r.warned_at
		FROM prompt_templates t JOIN prompt_rollouts r ON r.template_id = t.id
		JOIN prompt_versions v ON v.id = r.version_id
		JOIN prompt_labels l ON l.template_id = t.id AND l.label = r.label
		JOIN prompt_rollouts f ON f.template_id = t.id AND f.label = r.label AND f.position = 0
			AND f.version_id = l.version_id
		WHERE t.id = ? AND t.workspace_id = ? ORDER BY r.label, r.position`, id, ws); err != nil {
		return nil, err
	}
	var rollouts []prompt.Rollout
	for _, row := range rows {
		if n := len(rollouts); n == 0 || rollouts[n-1].Label != row.Label {
			next := prompt.Rollout{Label: row.Label, Seed: row.Seed, Since: row.Since,
				WarnedAt: db.FromMicros(row.Warned)}
			if err := db.FromJSON(row.Guard, &next.Guard); err != nil {
				return nil, err
			}
			rollouts = append(rollouts, next)
		}
		slots, err := hex.DecodeString(row.Slots)
		if err != nil {
			return nil, err
		}
		r := &rollouts[len(rollouts)-1]
		r.Parts = append(r.Parts, prompt.RolloutPart{Version: row.Version, Number: row.Number, Slots: slots})
	}
	return rollouts, nil
}

// saveRollout replaces the stored rollout of a template. Deletions are not joined with the inserts that replace them:
// joined writes do not see each other's effects.
func (store *Store) saveRollout(ctx context.Context, id prompt.ID, r prompt.Rollout) error {
	if _, err := store.Exec(ctx, `DELETE FROM prompt_rollouts WHERE template_id = ? AND label = ?`, id,
		r.Label); err != nil {
		return err
	}
	guard, err := db.JSONText(r.Guard, r.Guard == prompt.Guard{})
	if err != nil {
		return err
	}
	var writes []db.Write
	for i, p := range r.Parts {
		writes = append(writes, db.Write{Query: `
			INSERT INTO prompt_rollouts (template_id, label, position, version_id, seed, slots, guard, since, warned_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, Args: []any{id, r.Label, i, p.Version, r.Seed,
			hex.EncodeToString(p.Slots), guard, r.Since, db.Micros(r.WarnedAt)}})
	}
	return store.Run(ctx, writes...)
}
