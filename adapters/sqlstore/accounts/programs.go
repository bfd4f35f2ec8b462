package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
)

// RemovePrograms removes the programs and groups that belong only to a workspace, and their keys in it. Programs that
// have left the workspace still have keys there.
func (store *Store) RemovePrograms(ctx context.Context, ws identity.WorkspaceID) error {
	var programs []identity.UserID
	if err := store.List(ctx, &programs, `SELECT id FROM users WHERE service AND id IN
		(SELECT user_id FROM memberships WHERE workspace_id = ? UNION SELECT user_id FROM api_keys
		WHERE workspace_id = ? UNION SELECT id FROM user_groups WHERE workspace_id = ?)`, ws, ws, ws); err != nil {
		return err
	}
	for _, program := range programs {
		for hasMore := true; hasMore; {
			var err error
			if hasMore, err = store.removeProgram(ctx, ws, program); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeProgram removes some of the keys of a program or group in a workspace, and reports whether it has more. With
// the last key it removes the program, unless another workspace has it too: without a key it could not be found any
// more.
func (store *Store) removeProgram(
	ctx context.Context, ws identity.WorkspaceID, program identity.UserID,
) (hasMore bool, err error) {
	const atOnce = 10 // a key has up to a row for each of account.RequestDays
	err = store.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE workspace_id = ?
			AND user_id = ? LIMIT ?)`, ws, program, atOnce); err != nil {
			return err
		}
		var one int
		if hasMore, err = tx.Get(ctx, &one, `SELECT 1 FROM api_keys WHERE workspace_id = ? AND user_id = ? LIMIT 1`, ws,
			program); hasMore || err != nil {
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
	return hasMore, err
}
