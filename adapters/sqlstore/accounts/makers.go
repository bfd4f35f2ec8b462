package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Maker returns the org of a workspace and the user who created it. The user is empty if that was the system, or an
// operator of the org, who creates workspaces for others. Both are empty if the workspace does not exist.
func (store *Store) Maker(ctx context.Context, ws identity.WorkspaceID) (identity.OrgID, identity.UserID, error) {
	var found struct {
		Org   identity.OrgID  `db:"org_id"`
		Maker identity.UserID `db:"maker"`
	}
	_, err := store.Get(ctx, &found, `
		SELECT w.org_id, COALESCE(u.id, '') AS maker FROM workspaces w
		LEFT JOIN users u ON u.id = w.created_by AND u.org_id = w.org_id AND NOT u.operator
		WHERE w.id = ?`, ws)
	return found.Org, found.Maker, err
}
