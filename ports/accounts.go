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
	// Add stores a user with memberships by hand, of workspaces that are there. Adding a user of the same
	// e-mail address in the org is account.ErrEmailTaken, and stores nothing.
	Add(ctx context.Context, u *account.User, m []account.Membership) error

	// Get answers a user with all memberships, oldest first. account.ErrUserNotFound if org has
	// no such user.
	Get(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.User, []account.Membership, error)

	// FindByEmail is Get by e-mail address, as account.EmailKey compares them.
	FindByEmail(ctx context.Context, org identity.OrgID, email string) (*account.User, []account.Membership, error)

	// Member answers the user who is a member of ws and has that id, or else that e-mail
	// address; empty if there is none.
	Member(ctx context.Context, ws identity.WorkspaceID, id identity.UserID, email string) (identity.UserID, error)

	// SignedIn answers whom an issuer's subject is linked to; account.ErrUserNotFound if to nobody.
	// The answer may be up to a second old, as in Keys.Principal; its Met are the claims of a SignIn
	// within that second which changed nothing.
	SignedIn(ctx context.Context, org identity.OrgID, issuer, subject string) (*account.Person, error)

	// SignIn loads what s.Claims and the rules of s.Org name, the open invitations to the address if
	// the subject has no account, and the workspaces where rules gave those people a role, calls settle, and saves the user, the link, and the workspaces, all in one transaction. Of
	// two first sign-ins of one subject at the same time, the second finds what the first made. The
	// time of the newest token that was settled is kept with the link.
	SignIn(ctx context.Context, org identity.OrgID, s account.SignIn, settle func(*account.SignIn) error) (*account.Person, error)

	// Link loads the user of by's org with that e-mail address, account.ErrUserNotFound if there is
	// none, and whom the issuer's subject is linked to, nil if nobody; calls change; links the subject
	// to the first alone, and saves what was recorded of both, all in one transaction.
	Link(ctx context.Context, by identity.Actor, email, issuer, subject string, change func(to, from *account.Person) error) error

	// Update loads a user, calls change and saves what it recorded, in one transaction, as
	// Prompts.Update does.
	Update(ctx context.Context, org identity.OrgID, id identity.UserID, change func(*account.User, []account.Membership) error) (*account.User, error)
}

// People keeps the accounts of an org's people as its operators change them.
type People interface {
	// ChangeAccess loads the account of a person of by's org with what account.Access says, locked against
	// other such changes of the org, so that operators cannot disable each other at once; calls change, and
	// saves what the user and the keys recorded, all in one transaction. account.ErrUserNotFound if the org
	// has no such user.
	ChangeAccess(ctx context.Context, by identity.Actor, id identity.UserID, change func(*account.Access) error) error
}

// Workspaces keeps workspaces and their members. Find, Get and Update answer
// identity.ErrWorkspaceNotFound if the org never had such a workspace; a deleted one is found.
type Workspaces interface {
	// Add stores a new workspace with the members that it was made with. account.ErrSlugTaken if
	// another one of the org, deleted ones included, has its slug; account.ErrTooManyWorkspaces if
	// account.MaxWorkspaces are there that who made it has made, also where many are made at once.
	Add(ctx context.Context, w *account.Workspace) error

	// Find answers the workspace of org with that id or slug, without members.
	Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error)

	// Get answers a workspace with the membership of by and no other's.
	Get(ctx context.Context, by identity.Actor, id identity.WorkspaceID) (*account.Workspace, error)

	// Members lists a workspace's members by user id; of a workspace that org never had, none.
	Members(ctx context.Context, org identity.OrgID, id identity.WorkspaceID, q page.Query) (account.MemberPage, error)

	// Member answers one of them; account.ErrMemberNotFound if there is none.
	Member(ctx context.Context, org identity.OrgID, id identity.WorkspaceID, user identity.UserID) (account.Member, error)

	// Update loads a workspace with the memberships of by and of also, and the API keys in it that are not
	// revoked: also's, service keys that also created, and those that were made by them at any remove. It
	// locks the workspace, calls change and
	// saves what it recorded, also of those keys, all in one transaction, as Prompts.Update does. With a
	// member that change removed go that user's shares in the workspace, and what answers showed of
	// keys that it ended. account.ErrSlugTaken as in Add.
	Update(ctx context.Context, by identity.Actor, id identity.WorkspaceID, also []identity.UserID, change func(*account.Workspace) error) (*account.Workspace, error)
}

// Invitations keeps invitations into workspaces. Its change functions are called as
// Workspaces.Update calls them.
type Invitations interface {
	// List lists a workspace's open invitations, expired ones included, newest first.
	List(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, q page.Query) (account.InvitationPage, error)

	// Get answers one of them; account.ErrInvitationNotFound if there is none.
	Get(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, id account.InvitationID) (*account.Invitation, error)

	// Invite stores the invitation that change makes of an address; the workspace tells what it has
	// sent, at by's time. member is the member with that address, empty if there is none; pending its
	// open invitation, nil if there is none.
	Invite(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
		change func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation, error)) error

	// Update changes an invitation of a workspace, nil if there is none with that id.
	Update(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID, change func(*account.Workspace, *account.Invitation) error) error

	// Accept changes the invitation whose token has that hash, with its workspace, which is loaded with
	// the memberships of by and of who invited, and the user by;
	// the invitation is nil if another call ended it just now. account.ErrInvitationNotFound if by's
	// org has none that is open.
	Accept(ctx context.Context, by identity.Actor, h account.Hash, change func(*account.User, *account.Workspace, *account.Invitation) error) error
}

// Keys keeps API keys. Methods that name a key answer account.ErrKeyNotFound if the workspace
// has none with that id.
type Keys interface {
	// Add stores the key that change makes for user in by's workspace, with its bearer and that one's
	// membership if they are new. The workspace is loaded and locked as in Workspaces.Update, with the
	// memberships of by and user, and what keys live at by's time: whoever is removed meanwhile makes
	// none. identity.ErrWorkspaceNotFound if by's org never had that workspace.
	Add(ctx context.Context, by identity.Actor, user identity.UserID, change func(*account.Workspace) (bearer *account.User, k *account.Key, err error)) error

	// Get answers a live or revoked key.
	Get(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID) (*account.Key, error)

	// List lists the workspace's live keys, newest first; only user's unless that is empty.
	List(ctx context.Context, ws identity.WorkspaceID, user identity.UserID, now time.Time, q page.Query) (account.KeyPage, error)

	// Update loads a key of by's workspace, and those that were made by it, at any remove, and are not
	// revoked; calls change and saves what was recorded of any, as Prompts.Update does. The workspace
	// is loaded and locked as in Add.
	Update(ctx context.Context, by identity.Actor, id identity.KeyID, change func(w *account.Workspace, k *account.Key, made []*account.Key) error) (*account.Key, error)

	// Rotate is Update for a key that gets a successor, which is stored with it.
	Rotate(ctx context.Context, by identity.Actor, id identity.KeyID, change func(*account.Workspace, *account.Key) (*account.Key, error)) error

	// Principal answers whom a token of org authenticates, revoked and expired ones included:
	// account.Key.Live is the caller's to ask. identity.ErrUnauthenticated if there is none. The
	// answer may be up to a second old, but never older than a change made through this adapter.
	Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error)

	// Used notes when keys of org were used, of each if it was not within the minute before. Those that are not
	// there are no error. It is no change of a key, which keeps its revision; after an error some may be noted.
	Used(ctx context.Context, org identity.OrgID, uses map[identity.KeyID]time.Time) error
}

// Events reads the audit trail.
type Events interface {
	// List lists a workspace's events, latest first. With two or more of type, actor and subject a page can hold
	// fewer events than its limit, or none, and still have a Next.
	List(ctx context.Context, ws identity.WorkspaceID, f event.Filter, q page.Query) (event.Page, error)
}
