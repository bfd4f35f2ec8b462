package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// membershipColumns are those of memberships m in workspaces t.
const membershipColumns = workspaceColumns + `, m.role, m.by_hand, m.granted, m.grouped`

type membershipRow struct {
	workspaceRow
	Role    identity.Role `db:"role"`
	ByHand  identity.Role `db:"by_hand"`
	Granted db.Granted    `db:"granted"`
	Grouped bool          `db:"grouped"`
}

func (r *membershipRow) membership() account.Membership {
	return account.Membership{
		Workspace: r.workspace(), Role: r.Role, ByHand: r.ByHand, Granted: account.Granted(r.Granted),
		Grouped: r.Grouped,
	}
}

// Memberships implements ports.People.
func (s *People) Memberships(
	ctx context.Context, by identity.Actor, q page.Query,
) (account.MembershipPage, error) {
	conditions := db.NewConditions(`m.user_id = ? AND t.org_id = ? AND t.deleted_at = 0`, by.User, by.Org)
	conditions.When(by.Key != "", `m.workspace_id = ?`, by.Workspace)
	conditions.PageBounds(`m.workspace_id`, q.After, "")
	var rows []membershipRow
	if err := s.db.List(ctx, &rows, `
		SELECT `+membershipColumns+` FROM memberships m JOIN workspaces t ON t.id = m.workspace_id
		WHERE `+conditions.SQL()+` ORDER BY m.workspace_id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.MembershipPage{}, err
	}
	found := make([]account.Membership, len(rows))
	for i := range rows {
		found[i] = rows[i].membership()
	}
	return page.Cut(found, q.Limit, func(m account.Membership) string { return string(m.Workspace.ID) }), nil
}
