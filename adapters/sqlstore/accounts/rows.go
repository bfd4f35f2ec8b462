package accounts

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const userColumns = `t.id, t.org_id, t.email, t.email_verified, t.email_verified_by, t.name, t.service,
	t.operator, t.operator_by_hand, t.operator_by, t.disabled_at, t.erased_at, t.default_workspace_id, t.revision,
	t.created_at, t.updated_at`

// userNames are the columns of a user in a packed row; userDetails are those without its id and org.
var (
	userNames   = slices.Concat([]string{"id", "org_id"}, userDetails)
	userDetails = []string{"email", "email_verified", "email_verified_by", "name", "service", "operator",
		"operator_by_hand", "operator_by", "disabled_at", "default_workspace_id", "revision", "created_at",
		"updated_at"}
)

type userRow struct {
	ID               identity.UserID      `db:"id"`
	Org              identity.OrgID       `db:"org_id"`
	Email            string               `db:"email"`
	EmailVerified    bool                 `db:"email_verified"`
	EmailVerifiedBy  string               `db:"email_verified_by"`
	Name             string               `db:"name"`
	Service          bool                 `db:"service"`
	Operator         bool                 `db:"operator"`
	OperatorByHand   bool                 `db:"operator_by_hand"`
	OperatorBy       db.Granters          `db:"operator_by"`
	DisabledAt       int64                `db:"disabled_at"`
	ErasedAt         int64                `db:"erased_at"`
	DefaultWorkspace identity.WorkspaceID `db:"default_workspace_id"`
	Revision         int64                `db:"revision"`
	CreatedAt        int64                `db:"created_at"`
	UpdatedAt        int64                `db:"updated_at"`
}

func (r *userRow) user() account.User {
	return account.User{
		ID: r.ID, Org: r.Org, Email: r.Email, EmailVerified: r.EmailVerified, EmailVerifiedBy: r.EmailVerifiedBy,
		Name: r.Name, Service: r.Service,
		Operator: r.Operator, OperatorByHand: r.OperatorByHand, OperatorBy: r.OperatorBy,
		DisabledAt: db.FromMicros(r.DisabledAt), ErasedAt: db.FromMicros(r.ErasedAt),
		DefaultWorkspace: r.DefaultWorkspace,
		Revision:         r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

const workspaceColumns = `t.id, t.org_id, t.slug, t.name, t.created_by, t.revision, t.created_at, t.updated_at,
	t.deleted_at`

type workspaceRow struct {
	ID        identity.WorkspaceID `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Slug      string               `db:"slug"`
	Name      string               `db:"name"`
	CreatedBy identity.UserID      `db:"created_by"`
	Revision  int64                `db:"revision"`
	CreatedAt int64                `db:"created_at"`
	UpdatedAt int64                `db:"updated_at"`
	DeletedAt int64                `db:"deleted_at"`
}

func (r *workspaceRow) workspace() account.Workspace {
	return account.Workspace{
		ID: r.ID, Org: r.Org, Slug: r.Slug, Name: r.Name, CreatedBy: r.CreatedBy, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		DeletedAt: db.FromMicros(r.DeletedAt),
	}
}

// membershipColumns are the columns of memberships m in workspaces t.
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

const memberColumns = `m.user_id, u.email, u.name, u.service, m.role, m.by_hand, m.granted, m.revision, m.created_at,
	m.updated_at`

type memberRow struct {
	User      identity.UserID `db:"user_id"`
	Email     string          `db:"email"`
	Name      string          `db:"name"`
	Service   bool            `db:"service"`
	Role      identity.Role   `db:"role"`
	ByHand    identity.Role   `db:"by_hand"`
	Granted   db.Granted      `db:"granted"`
	Revision  int64           `db:"revision"`
	CreatedAt int64           `db:"created_at"`
	UpdatedAt int64           `db:"updated_at"`
}

func (r *memberRow) member() account.Member {
	return account.Member{
		User: r.User, Email: r.Email, Name: r.Name, Service: r.Service, Role: r.Role, ByHand: r.ByHand,
		Granted: account.Granted(r.Granted), Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

const keyColumns = `t.id, t.org_id, t.workspace_id, t.user_id, t.service, t.name, t.ceiling, t.hint, t.expires_at,
	t.scopes, t.networks, t.last_used_at, t.last_used_by, t.revoked_at, t.suspended_at, t.created_by, t.kept_by,
	t.made_by_key, t.revision, t.created_at, t.updated_at`

type keyRow struct {
	ID         identity.KeyID       `db:"id"`
	Org        identity.OrgID       `db:"org_id"`
	Workspace  identity.WorkspaceID `db:"workspace_id"`
	User       identity.UserID      `db:"user_id"`
	Service    bool                 `db:"service"`
	Name       string               `db:"name"`
	Ceiling    identity.Role        `db:"ceiling"`
	Hint       string               `db:"hint"`
	ExpiresAt  int64                `db:"expires_at"`
	Scopes     identity.Scopes      `db:"scopes"`
	Networks   identity.Networks    `db:"networks"`
	LastUsedAt int64                `db:"last_used_at"`
	LastUsedBy string               `db:"last_used_by"`
	RevokedAt  int64                `db:"revoked_at"`
	Suspended  int64                `db:"suspended_at"`
	CreatedBy  identity.UserID      `db:"created_by"`
	KeptBy     identity.UserID      `db:"kept_by"`
	MadeBy     identity.KeyID       `db:"made_by_key"`
	Revision   int64                `db:"revision"`
	CreatedAt  int64                `db:"created_at"`
	UpdatedAt  int64                `db:"updated_at"`
}

func (r *keyRow) key() account.Key {
	return account.Key{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, User: r.User, Service: r.Service, Name: r.Name,
		Ceiling: r.Ceiling, Scopes: r.Scopes, Networks: r.Networks, Hint: r.Hint, LastUsedBy: r.LastUsedBy,
		ExpiresAt: db.FromMicros(r.ExpiresAt), LastUsedAt: db.FromMicros(r.LastUsedAt),
		RevokedAt:   db.FromMicros(r.RevokedAt),
		SuspendedAt: db.FromMicros(r.Suspended),
		CreatedBy:   r.CreatedBy, KeptBy: r.KeptBy, MadeBy: r.MadeBy, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}
