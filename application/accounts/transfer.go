package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// TransferWorkspace makes another member a workspace's owner, and the caller an admin, in one transaction. It returns
// the new owner, and what the caller lost. Returns account.ErrTransferRefused even if the member's account is disabled.
func (s *Service) TransferWorkspace(
	ctx context.Context, by identity.Actor, id identity.WorkspaceID, match revision.Match, user identity.UserID,
	keep account.KeepServiceKeys,
) (m account.Member, lost account.Loss, err error) {
	lost, err = ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (account.Loss, error) {
		w, err := tx.Workspaces.Update(ctx, by, id, []identity.UserID{user, by.User},
			func(w *account.Workspace) (err error) {
				m, err = w.Transfer(by, match, user, keep)
				return err
			})
		if err != nil {
			return account.Loss{}, err
		}
		u, _, err := tx.Users.Get(ctx, by.Org, user)
		if err == nil && !u.Enabled() {
			err = account.ErrTransferRefused
		}
		if err != nil {
			return account.Loss{}, err
		}
		return w.Lost, s.followDetails(ctx, tx.Jobs, by, id)
	})
	return m, lost, err
}
