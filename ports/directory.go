package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// DirectoryUsers stores the users that the directories of orgs manage by SCIM.
type DirectoryUsers interface {
	// AddUser stores a user whose account exists. account.ErrDirectoryUserExists if another user of the org has that
	// name or account, including removed ones.
	AddUser(ctx context.Context, by identity.Actor, u *account.DirectoryUser) error

	// User returns a user with the groups. account.ErrDirectoryUserNotFound if org has none with that id, or the
	// directory has removed it.
	User(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.DirectoryUser, error)

	// UserNamed returns the user with a name, also one that was removed, or account.ErrDirectoryUserNotFound.
	UserNamed(ctx context.Context, org identity.OrgID, name string) (*account.DirectoryUser, error)

	// Users lists users in the order of their ids, and returns how many there are without Skip and Limit.
	Users(ctx context.Context, org identity.OrgID, q account.DirectoryQuery) ([]account.DirectoryUser, int, error)

	// SaveUser writes a user that exists; without Groups if it was removed. account.ErrDirectoryUserExists if another
	// one has its name.
	SaveUser(ctx context.Context, by identity.Actor, u *account.DirectoryUser) error

	// Unsettled returns up to limit active users, by id, whose groups have changed since Settle, or were settled by
	// other rules.
	Unsettled(ctx context.Context, org identity.OrgID, rules string, limit int) ([]identity.UserID, error)

	// Several returns users with their groups, by id. It leaves out those that User does not find.
	Several(ctx context.Context, org identity.OrgID, ids []identity.UserID) ([]account.DirectoryUser, error)

	// Settle records that the roles of users' accounts follow from the groups that the users have, by rules. It leaves
	// out those whose groups have changed since they were read.
	Settle(ctx context.Context, by identity.Actor, users []account.DirectoryUser, rules string) error
}

// DirectoryGroups stores the groups that the directories of orgs manage by SCIM.
type DirectoryGroups interface {
	// AddGroup stores a group. account.ErrDirectoryGroupExists if another one of the org has its name,
	// account.ErrDirectoryUserNotFound if one of its people is not in the directory, and account.ErrDirectoryFull if
	// there are account.MaxDirectoryGroups.
	AddGroup(ctx context.Context, by identity.Actor, g *account.DirectoryGroup) error

	// Group returns a group with its people. account.ErrDirectoryGroupNotFound if org has none with that id.
	Group(ctx context.Context, org identity.OrgID, id account.DirectoryGroupID) (*account.DirectoryGroup, error)

	// Groups lists groups without their people in the order of their ids, and returns how many there are without Skip
	// and Limit.
	Groups(ctx context.Context, org identity.OrgID, q account.DirectoryQuery) ([]account.DirectoryGroup, int, error)

	// UpdateGroup loads a group with its people, calls change and saves the group, in one transaction. Those who come,
	// go, or are in a group that gets another name are unsettled. Returns the errors of AddGroup and Group.
	UpdateGroup(ctx context.Context, org identity.OrgID, id account.DirectoryGroupID,
		change func(*account.DirectoryGroup) error) (*account.DirectoryGroup, error)

	// DeleteGroup loads a group with its people, calls check, and deletes the group unless that returns an error; its
	// people are unsettled. Returns account.ErrDirectoryGroupNotFound if not found.
	DeleteGroup(ctx context.Context, org identity.OrgID, id account.DirectoryGroupID,
		check func(*account.DirectoryGroup) error) error
}

// DirectoryRequests stores what the directories of orgs sent.
type DirectoryRequests interface {
	// Add stores a request in by's org. Of the requests with its token and its outcome, it keeps at most limit, the
	// newest.
	Add(ctx context.Context, by identity.Actor, r *account.DirectoryRequest, limit int) error

	// List lists an org's requests from a time on, the newest first: with an outcome, or all if it is empty.
	List(ctx context.Context, org identity.OrgID, outcome account.DirectoryOutcome, start time.Time, q page.Query,
	) (account.DirectoryRequestPage, error)
}
