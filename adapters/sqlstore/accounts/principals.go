package accounts

import (
	"context"
	"slices"
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

// principal reads on the connections that are kept for credentials, so that slow statements cannot delay
// authentication.
func (store *Store) principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error) {
	var text string
	found, err := store.forCredentials().Get(ctx, &text, principalByHash, h[:], org)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrUnauthenticated
	}
	var row principalRow
	if err := principalPacked.Unpack(text, &row); err != nil {
		return nil, err
	}
	return row.principal(org), nil
}

// principalPacked leaves out the org, by which a key is found, and ids that the key has too.
var principalPacked = db.NewPackedRow[principalRow](slices.Concat(
	db.ColumnsOf(`k.%`, `k.`, []string{"id", "workspace_id", "user_id", "service", "name", "ceiling", "scopes",
		"networks", "hint", "expires_at", "last_used_at", "last_used_by", "revoked_at", "suspended_at", "created_by",
		"made_by_key", "revision", "created_at", "updated_at"}),
	db.ColumnsOf(`u.%`, `u.`, userDetails),
	db.ColumnsOf(`w.%`, `w.`, []string{"slug", "name", "created_by", "revision", "created_at", "updated_at"}),
	optionalMembership,
))

// optionalMembership are the columns of a membership m, which may be missing.
var optionalMembership = append(db.ColumnsOf(`COALESCE(m.%, 0)`, ``, []string{"role", "by_hand"}),
	db.Column{Expression: `COALESCE(m.grouped, FALSE)`, Path: `grouped`})

const principalTables = ` FROM api_keys k JOIN users u ON u.id = k.user_id
	JOIN workspaces w ON w.id = k.workspace_id AND w.deleted_at = 0
	LEFT JOIN memberships m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id`

var principalByHash = principalPacked.Query(principalTables + ` WHERE k.hash = ? AND k.org_id = ?`)
