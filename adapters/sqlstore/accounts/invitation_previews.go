package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Find implements ports.Invitations.
func (s *Invitations) Find(
	ctx context.Context, org identity.OrgID, h account.Hash,
) (*account.Invitation, *account.InvitationPreview, error) {
	var row struct {
		invitationRow
		Name    string        `db:"workspace_name"`
		Inviter string        `db:"inviter_name"`
		Role    identity.Role `db:"inviter_role"`
		Known   bool          `db:"known"`
	}
	found, err := s.db.Get(ctx, &row, `
		SELECT `+invitationColumns+`, w.name AS workspace_name, COALESCE(u.name, '') AS inviter_name,
			`+inviterRole+` AS inviter_role,
			EXISTS (SELECT 1 FROM users k WHERE k.org_id = t.org_id AND k.email_key = t.email_key) AS known
		FROM invitations t JOIN workspaces w ON w.id = t.workspace_id LEFT JOIN users u ON u.id = t.invited_by
		LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.invited_by
		WHERE t.org_id = ? AND t.open AND w.deleted_at = 0 AND `+linkMatch, org, h[:], h[:])
	if err != nil {
		return nil, nil, err
	}
	i := row.invitation()
	if !found || !(&account.Pending{Invitation: i, Inviter: row.Role}).Vouched() {
		return nil, nil, account.ErrInvitationNotFound
	}
	return &i, &account.InvitationPreview{
		Workspace: row.Name, Inviter: row.Inviter, Email: i.Email, Role: i.Role, ExpiresAt: i.ExpiresAt,
		Account: row.Known,
	}, nil
}
