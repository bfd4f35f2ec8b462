package prompts

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Reads counts reads of versions.
type Reads struct{ db *Store }

var _ ports.PromptReads = (*Reads)(nil)

// AddReads implements ports.PromptReads.
func (s *Reads) AddReads(ctx context.Context, ws identity.WorkspaceID, reads map[prompt.Read]int64) error {
	// In the same order on all nodes, to prevent deadlocks.
	list := slices.SortedFunc(maps.Keys(reads), func(a, b prompt.Read) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Day, b.Day))
	})
	for len(list) > 0 {
		batch := list[:min(len(list), db.UsesAtOnce)]
		if err := s.db.inTx(ctx, func(tx *Store) error {
			for _, r := range batch {
				if _, err := tx.Exec(ctx, `
					INSERT INTO version_reads (template_id, day, version_id, number, reads)
					SELECT v.template_id, CAST(? AS INTEGER), v.id, v.number, CAST(? AS BIGINT)
					FROM prompt_versions v JOIN prompt_templates t ON t.id = v.template_id
					WHERE v.id = ? AND t.workspace_id = ?
					ON CONFLICT (template_id, day, version_id) DO UPDATE
					SET reads = version_reads.reads + excluded.reads`, r.Day, reads[r], r.Version, ws); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for _, r := range batch { // so that a later failure does not count them twice
			delete(reads, r)
		}
		list = list[len(batch):]
	}
	return nil
}

// Reads implements ports.PromptLists.
func (l *Lists) Reads(
	ctx context.Context, ws identity.WorkspaceID, id prompt.ID, firstDay prompt.Day, limit int,
) ([]prompt.Reads, error) {
	var rows []struct {
		Version prompt.VersionID `db:"version_id"`
		Number  int              `db:"number"`
		Day     prompt.Day       `db:"day"`
		Reads   int64            `db:"reads"`
	}
	err := l.db.List(ctx, &rows, `SELECT r.version_id, r.number, r.day, r.reads FROM prompt_templates t
		JOIN version_reads r ON r.template_id = t.id WHERE t.id = ? AND t.workspace_id = ? AND r.day >= ?
		ORDER BY r.day DESC, r.number DESC LIMIT ?`, id, ws, firstDay, limit)
	found := make([]prompt.Reads, len(rows))
	for i, r := range rows {
		found[i] = prompt.Reads{Read: prompt.Read{Version: r.Version, Day: r.Day}, Number: r.Number, Count: r.Reads}
	}
	return found, err
}
