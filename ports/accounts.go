package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Users keeps the people of an org and the workspaces that they are in.
type Users interface {
	// Add stores a user with memberships; workspaces that are not there yet are made. Adding a
	// user of the same e-mail address in the org is account.ErrEmailTaken, and stores nothing.
	Add(ctx context.Context, u *account.User, m []account.Membership) error

	// Get answers a user with all memberships, oldest first. account.ErrUserNotFound if org has
	// no such user.
	Get(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.User, []account.Membership, error)

	// FindByEmail is Get by e-mail address, ignoring case.
	FindByEmail(ctx context.Context, org identity.OrgID, email string) (*account.User, []account.Membership, error)

	// Member answers the user who is a member of ws and has that id, or else that e-mail
	// address; empty if there is none.
	Member(ctx context.Context, ws identity.WorkspaceID, id identity.UserID, email string) (identity.UserID, error)

	// Update loads a user, calls change and saves what it recorded, in one transaction, as
	// Prompts.Update does.
	Update(ctx context.Context, org identity.OrgID, id identity.UserID, change func(*account.User, []account.Membership) error) (*account.User, error)
}

// Workspaces reads workspaces.
type Workspaces interface {
	// Find answers the workspace of org with that id or slug; identity.ErrWorkspaceNotFound if
	// there is none.
	Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error)
}

// Keys keeps API keys. Methods that name a key answer account.ErrKeyNotFound if the workspace
// has none with that id.
type Keys interface {
	Add(ctx context.Context, k *account.Key) error

	// Get answers a live or revoked key.
	Get(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID) (*account.Key, error)

	// List lists the workspace's live keys, newest first; only user's unless that is empty.
	List(ctx context.Context, ws identity.WorkspaceID, user identity.UserID, now time.Time, q page.Query) (account.KeyPage, error)

	// Update loads a key, calls change and saves what it recorded, as Prompts.Update does.
	Update(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID, change func(*account.Key) error) (*account.Key, error)

	// Principal answers whom a token of org authenticates, revoked and expired ones included:
	// account.Key.Live is the caller's to ask. identity.ErrUnauthenticated if there is none. The
	// answer may be up to a second old, but never older than a change made through this adapter.
	Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error)

	// Used notes when a key was used, if it was not within the last minute.
	Used(ctx context.Context, org identity.OrgID, id identity.KeyID, at time.Time) error
}

// Events reads the audit trail.
type Events interface {
	// List lists a workspace's events, latest first.
	List(ctx context.Context, ws identity.WorkspaceID, f event.Filter, q page.Query) (event.Page, error)
}
