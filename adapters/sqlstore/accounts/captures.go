package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Captures stores the people who joined a workspace because of their address's domain.
type Captures struct{ db *Store }

var _ ports.Captures = (*Captures)(nil)

// Capture implements ports.Captures.
func (s *Captures) Capture(
	ctx context.Context, by identity.Actor, slug string, user identity.UserID, change func(*account.Workspace) error,
) (isCaptured bool, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		isCaptured = false
		w, err := tx.lockedWorkspaceBySlug(ctx, by.Org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		count, err := tx.Exec(ctx, `INSERT INTO captured_members (workspace_id, user_id, created_at) VALUES (?, ?, ?)
			ON CONFLICT (workspace_id, user_id) DO NOTHING`, w.ID, user, db.Micros(by.At))
		if err != nil || count == 0 {
			return err
		}
		if err := tx.loadMembers(ctx, w, user); err != nil {
			return err
		}
		if err := change(w); err != nil {
			return err
		}
		isCaptured = true
		return tx.SaveWorkspace(ctx, w)
	})
	return isCaptured && err == nil, err
}
