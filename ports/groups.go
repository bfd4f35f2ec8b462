package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Groups stores the groups of workspaces. Methods that name a group return account.ErrGroupNotFound if the workspace
// has none with that id.
type Groups interface {
	// List lists a workspace's groups, newest first.
	List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (account.GroupPage, error)

	// Get returns one group.
	Get(ctx context.Context, ws identity.WorkspaceID, id identity.UserID) (*account.Group, error)

	// People lists the people in a group by user id, as Workspaces.Members does. The list is empty if there is no
	// such group.
	People(
		ctx context.Context, ws identity.WorkspaceID, id identity.UserID, q page.Query,
	) (account.MemberPage, error)

	// Add stores the group that change returns for by's workspace. It loads and locks the workspace as
	// Workspaces.Update does, with the membership of by, and counts its groups. account.ErrGroupNameTaken if
	// another group of the workspace has the same name, without regard to case.
	Add(
		ctx context.Context, by identity.Actor, change func(w *account.Workspace, count int) (*account.Group, error),
	) error

	// Update loads a group of by's workspace with all of its people. It loads and locks the workspace as
	// Workspaces.Update does, with the memberships of by, and with the memberships of the users in also and of the
	// people in the group, and what these made. It calls change, and saves what the group recorded, its people, the
	// memberships and the keys that changed, all in one transaction. A deleted group's shares are deleted.
	// account.ErrGroupNameTaken as in Add. People who leave the workspace leave its groups, too.
	Update(
		ctx context.Context, by identity.Actor, id identity.UserID, others []identity.UserID,
		change func(*account.Workspace, *account.Group) error,
	) (*account.Group, error)
}
