package accounts

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

type principalRow struct {
	Key       keyRow        `db:"k"`
	User      userRow       `db:"u"`
	Workspace workspaceRow  `db:"w"`
	Role      identity.Role `db:"role"`
	ByHand    identity.Role `db:"by_hand"`
	Grouped   bool          `db:"grouped"`
}

// found returns the row's principal, or identity.ErrUnauthenticated if no row was found.
func (row *principalRow) found(org identity.OrgID, found bool, err error) (*account.Principal, error) {
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, identity.ErrUnauthenticated
	default:
		return row.principal(org), nil
	}
}

// principal returns the row's values. The ids are copied, because rate limits and counts keep them for longer than a
// packed row's string.
func (row *principalRow) principal(org identity.OrgID) *account.Principal {
	row.Key.ID = identity.KeyID(strings.Clone(string(row.Key.ID)))
	row.Key.User = identity.UserID(strings.Clone(string(row.Key.User)))
	row.Key.Org, row.User.Org, row.Workspace.Org = org, org, org
	row.User.ID, row.Workspace.ID = row.Key.User, row.Key.Workspace
	return &account.Principal{
		User: row.User.user(), Key: row.Key.key(), Membership: account.Membership{Workspace: row.Workspace.workspace(),
			Role: row.Role, ByHand: row.ByHand, Grouped: row.Grouped},
	}
}

// Principal implements ports.Keys. A transaction does not use the cache: its changes may be rolled back, and
// other requests must not see them yet.
func (s *Keys) Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error) {
	if s.db.IsTransaction() {
		return s.db.principal(ctx, org, h)
	}
	return s.db.Principals.Get(ctx, db.CredentialKey{Org: org, Hash: h}, func() (*account.Principal, error) {
		return s.db.principal(ctx, org, h)
	})
}

func (store *Store) principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error) {
	var row principalRow
	found, err := principalQuery.Get(ctx, store.forCredentials().DB, &row, h[:], org)
	return row.found(org, found, err)
}

var principalQuery = db.NewPackedQuery[principalRow](principalKeyColumns, principalTable, principalCondition,
	principalJoins...)

const (
	principalTable     = ` FROM api_keys k`
	principalCondition = ` WHERE k.hash = ? AND k.org_id = ?`
)

// principalKeyColumns and principalJoins leave out the org, by which a key is found, and ids that the key has too.
var principalKeyColumns = db.ColumnsOf(`k.%`, `k.`, []string{"id", "workspace_id", "user_id", "service", "name",
	"ceiling", "scopes", "networks", "hint", "expires_at", "last_used_at", "last_used_by", "revoked_at", "suspended_at",
	"created_by", "made_by_key", "revision", "created_at", "updated_at"})

var principalJoins = []db.PackedJoin{
	{Table: `users u`, On: `u.id = k.user_id`, Columns: db.ColumnsOf(`u.%`, `u.`, userDetails)},
	{Table: `workspaces w`, On: `w.id = k.workspace_id AND w.deleted_at = 0`, Columns: db.ColumnsOf(`w.%`, `w.`,
		[]string{"slug", "name", "created_by", "revision", "created_at", "updated_at"})},
	{Table: `memberships m`, On: `m.workspace_id = k.workspace_id AND m.user_id = k.user_id`, IsLeft: true,
		Columns: db.ColumnsOf(`m.%`, ``, []string{"role", "by_hand", "grouped"}),
		Index:   `memberships_user`}, // it has these columns, and users differ where their workspaces do not
}
