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

// Users stores an org's people and the workspaces that they belong to.
type Users interface {
	// Add stores a user without memberships. It returns account.ErrEmailTaken, and stores nothing, if a user of the org
	// has the same e-mail address.
	Add(ctx context.Context, u *account.User) error

	// Get returns a user with all memberships, oldest first. account.ErrUserNotFound if org has no such
	// user.
	Get(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.User, []account.Membership, error)

	// FindByEmail is Get by e-mail address, compared as account.EmailKey does.
	FindByEmail(ctx context.Context, org identity.OrgID, email string) (*account.User, []account.Membership, error)

	// Member returns the id of the member of ws that has the given id, or else the given e-mail
	// address. The id is empty if no account has it.
	Member(ctx context.Context, ws identity.WorkspaceID, id identity.UserID, email string) (identity.UserID, error)

	// SignedIn returns the person that an issuer's subject is linked to, or account.ErrUserNotFound. The result may be
	// up to one second old, as in Keys.Principal. Its LastSettled field holds a SignIn's claims within that second that
	// changed nothing.
	SignedIn(ctx context.Context, org identity.OrgID, issuer, subject string) (*account.Person, error)

	// SignIn loads the users and workspaces that s.Claims and the rules of s.Org name, the open
	// invitations to the address if the subject has no account, and the workspaces where rules gave
	// those people a role. It calls settle, and saves the user, the link and the workspaces, all in one
	// transaction. If one subject signs in twice for the first time at once, the second call finds the
	// account that the first one created. The link records the time of the newest token that was
	// settled.
	SignIn(ctx context.Context, org identity.OrgID, s account.SignIn,
		settle func(*account.SignIn) error) (*account.Person, error)

	// Link loads the user of by's org with that e-mail address (account.ErrUserNotFound if not found) and the user that
	// the issuer's subject is linked to (nil if not found). It calls change, links the subject to the first user only,
	// and saves what both recorded, all in one transaction.
	Link(ctx context.Context, by identity.Actor, email, issuer, subject string,
		change func(person, from *account.Person) error) error

	// Update loads a user, calls change and saves what it recorded in one transaction, as
	// Prompts.Update does.
	Update(ctx context.Context, org identity.OrgID, id identity.UserID,
		change func(*account.User, []account.Membership) error) (*account.User, error)
}

// LinkedSignIns signs in many people whose accounts are linked.
type LinkedSignIns interface {
	// SignInLinked is Users.SignIn for many people at once, in one transaction and with few statements. all are
	// sign-ins at one issuer. Where settle returns identity.ErrUnauthenticated, that sign-in changes nothing; another
	// error undoes all. It returns, without settling them, the sign-ins of others, which need Users.SignIn: people
	// without a linked account, with an address that is not their account's, who join or leave a workspace group, or
	// who are responsible for service keys or endpoints.
	SignInLinked(ctx context.Context, org identity.OrgID, all []account.SignIn, settle func(*account.SignIn) error,
	) (others []account.SignIn, err error)
}

// People stores the accounts of an org's people for operators, who enable and disable them.
type People interface {
	// Memberships lists by's memberships in workspaces that are not deleted, newest workspaces first; with an API key,
	// only that in the key's workspace.
	Memberships(ctx context.Context, by identity.Actor, q page.Query) (account.MembershipPage, error)

	// List lists the people of org by e-mail address, without the users that service keys act as.
	List(ctx context.Context, org identity.OrgID, q page.Query) (account.UserPage, error)

	// Search lists the people of org that f matches, newest first, with what is counted as of now. People that an older
	// release's node has stored are indexed by the call itself, at most 500 in each call.
	Search(
		ctx context.Context, org identity.OrgID, f account.PeopleFilter, now time.Time, q page.Query,
	) (account.PersonPage, error)

	// Person returns one person as Search does, or account.ErrUserNotFound.
	Person(
		ctx context.Context, org identity.OrgID, id identity.UserID, now time.Time,
	) (*account.PersonSummary, error)

	// Overview returns what a person or program of org can do in the workspaces that are not deleted, at now; only in
	// ws unless it is empty. It has at most limit items of each kind. account.ErrUserNotFound if the org has no such
	// user.
	Overview(ctx context.Context, org identity.OrgID, id identity.UserID, ws identity.WorkspaceID, now time.Time,
		limit int) (*account.AccessOverview, error)

	// ChangeAccess loads a person's account in by's org as account.Access. It locks out other such changes in the org,
	// so that two operators cannot disable each other at once. It calls change, and saves what the user and the keys
	// recorded, all in one transaction. account.ErrUserNotFound if the org has no such user.
	ChangeAccess(ctx context.Context, by identity.Actor, id identity.UserID, change func(*account.Access) error) error
}

// Erasures exports and erases what is stored about people.
type Erasures interface {
	// Export calls emit with everything that is stored about a person, in sections of at most account.MaxExported rows.
	// A section can come in several parts. It ends with the first error of emit. account.ErrUserNotFound if the org
	// has no such person.
	Export(
		ctx context.Context, org identity.OrgID, id identity.UserID, emit func(account.ExportSection) error,
	) error

	// Erase loads a person's account in by's org as account.Leaver, locked as in ChangeAccess. It calls change, saves
	// what the user, the workspaces and the keys recorded, stores the erasure, and removes the person's sessions,
	// sign-ins, links, tickets, shares and invitations, which it counts in the erasure's report, all in one
	// transaction. account.ErrUserNotFound if the org has no such user.
	Erase(ctx context.Context, by identity.Actor, id identity.UserID,
		change func(*account.Leaver) (*account.Erasure, error)) error

	// Erasure returns a person's erasure, or account.ErrErasureNotFound.
	Erasure(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.Erasure, error)

	// CompleteErasure redacts the events of the org, and removes the stored responses, that name the erased person. It
	// works in small transactions, and can be called again. It then stores the report without the terms.
	// account.ErrErasureNotFound if the person was not erased.
	CompleteErasure(ctx context.Context, org identity.OrgID, id identity.UserID, now time.Time) error
}

// Workspaces stores workspaces and their members. Find, Get, Lock and Update return
// identity.ErrWorkspaceNotFound if the org never had such a workspace. A deleted workspace is found.
type Workspaces interface {
	// Add stores a new workspace with its initial members. account.ErrSlugTaken if another workspace of
	// the org, including deleted ones, has its slug. account.ErrTooManyWorkspaces if its creator has
	// created account.MaxWorkspaces already; concurrent calls cannot exceed the limit.
	Add(ctx context.Context, w *account.Workspace) error

	// List lists the workspaces of org by slug, including deleted ones, without members.
	List(ctx context.Context, org identity.OrgID, q page.Query) (account.WorkspacePage, error)

	// Find returns the workspace of org with that id or slug, without members.
	Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error)

	// Get returns a workspace with the membership of by only.
	Get(ctx context.Context, by identity.Actor, id identity.WorkspaceID) (*account.Workspace, error)

	// Members lists a workspace's members by user id. The list is empty if org never had the workspace.
	Members(ctx context.Context, org identity.OrgID, id identity.WorkspaceID, q page.Query) (account.MemberPage, error)

	// Member returns one member, or account.ErrMemberNotFound.
	Member(
		ctx context.Context, org identity.OrgID, id identity.WorkspaceID, user identity.UserID,
	) (account.Member, error)

	// Lock locks a workspace of org until the transaction ends: until then every change of the
	// workspace, its memberships and its invitations waits. Outside a transaction the lock ends at once.
	Lock(ctx context.Context, org identity.OrgID, id identity.WorkspaceID) error

	// Update loads a workspace with the memberships of by and of the users in also, what the users in also
	// made in it (account.Powers), and the creators of those that are programs. It locks the workspace,
	// calls change, and saves what the workspace and the keys recorded, all in one transaction, as
	// Prompts.Update does. If change removed a member, that user's shares in the workspace are deleted.
	// Stored responses that showed a key that change ended are deleted too. account.ErrSlugTaken as in
	// Add.
	Update(ctx context.Context, by identity.Actor, id identity.WorkspaceID, others []identity.UserID,
		change func(*account.Workspace) error) (*account.Workspace, error)
}

// Invitations stores invitations into workspaces. It calls change functions as Workspaces.Update does.
type Invitations interface {
	// List lists a workspace's open invitations, including expired ones, newest first.
	List(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, q page.Query) (account.InvitationPage, error)

	// Get returns one invitation, or account.ErrInvitationNotFound.
	Get(
		ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, id account.InvitationID,
	) (*account.Invitation, error)

	// Workspace returns the workspace of the open invitation whose token has that hash.
	// account.ErrInvitationNotFound if the org has none.
	Workspace(ctx context.Context, org identity.OrgID, h account.Hash) (identity.WorkspaceID, error)

	// Find returns the open invitation whose token has that hash, and what its bearer may see of it.
	// account.ErrInvitationNotFound if the org has none, or if its inviter may no longer invite.
	Find(
		ctx context.Context, org identity.OrgID, h account.Hash,
	) (*account.Invitation, *account.InvitationPreview, error)

	// Invite stores the invitation that change returns for an address. The workspace is loaded with the mails that it
	// has sent, as of by's time. member is the member with that address, or empty. pending is the open invitation to
	// that address, or nil.
	Invite(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
		change func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation,
			error)) error

	// Update changes a workspace invitation. change gets nil if no invitation has that id.
	Update(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID,
		change func(*account.Workspace, *account.Invitation) error) error

	// Accept changes the invitation whose token has that hash. It also loads its workspace, with the
	// memberships of by and of the inviter, and the user by. The invitation is nil if a concurrent call
	// has just ended it. account.ErrInvitationNotFound if by's org has no such open invitation.
	Accept(ctx context.Context, by identity.Actor, h account.Hash,
		change func(*account.User, *account.Workspace, *account.Invitation) error) error
}

// Keys stores API keys. Methods that name a key return account.ErrKeyNotFound if the workspace has none
// with that id.
type Keys interface {
	// Add stores the key that change returns for user in by's workspace, with its user and the user's
	// membership if they are new. It loads and locks the workspace as Workspaces.Update does, with the
	// memberships of by and user and the keys that are live at by's time. So a member who is removed at
	// the same time creates no key. identity.ErrWorkspaceNotFound if by's org never had that workspace.
	Add(ctx context.Context, by identity.Actor, user identity.UserID,
		change func(*account.Workspace) (bearer *account.User, k *account.Key, err error)) error

	// Get returns a live or revoked key.
	Get(ctx context.Context, ws identity.WorkspaceID, id identity.KeyID) (*account.Key, error)

	// List lists the workspace's live keys, newest first; only user's unless that is empty.
	List(ctx context.Context, ws identity.WorkspaceID, user identity.UserID, now time.Time,
		q page.Query) (account.KeyPage, error)

	// Update loads a key of by's workspace and, recursively, the keys created with it that are not
	// revoked. It calls change and saves what any of them recorded, as Prompts.Update does. The
	// workspace is loaded and locked as in Add.
	Update(ctx context.Context, by identity.Actor, id identity.KeyID,
		change func(w *account.Workspace, k *account.Key, keys []*account.Key) error) (*account.Key, error)

	// Rotate is Update for a key that gets a successor, which is stored with it.
	Rotate(ctx context.Context, by identity.Actor, id identity.KeyID,
		change func(*account.Workspace, *account.Key) (*account.Key, error)) error

	// Principal returns the user that a token of org authenticates, even if the key is revoked or
	// expired: the caller must check account.Key.Live. identity.ErrUnauthenticated if there is no such
	// key. The result may be up to one second old, but never older than a change made through this
	// adapter.
	Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error)

	// Holder returns the org, the workspace and the id of the key with a token, live or revoked, in any org.
	// Returns account.ErrKeyNotFound if not found.
	Holder(ctx context.Context, h account.Hash) (identity.OrgID, identity.WorkspaceID, identity.KeyID, error)

	// Used records when keys of org were last used, and by which address, at most once a minute per key. It
	// ignores keys that do not exist. It does not change a key's revision. After an error some uses may be recorded.
	Used(ctx context.Context, org identity.OrgID, uses map[identity.KeyID]account.KeyUse) error
}

// Events reads the audit trail.
type Events interface {
	// List lists a workspace's events, latest first. With two or more of type, actor, subject and request, a
	// page can hold fewer events than its limit, or none, and still have a Next.
	List(ctx context.Context, ws identity.WorkspaceID, f event.Filter, q page.Query) (event.Page, error)

	// Feed reads the events of org's workspace in the order of their Seq. No event appears later before one that was
	// already read. A part can hold fewer events than its limit, or none, and still have More.
	Feed(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, q event.FeedQuery) (event.Feed, error)

	// Verify checks the events of org's workspace after a position, about limit of them, in one snapshot: first the
	// links of the chain, then the events without a link.
	Verify(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, start event.Position,
		limit int) (event.Part, error)

	// Follow returns a channel that receives when a workspace's events that were stored through this process may have
	// got their Seq, until stop is called. While there is a follower, that takes less than 250 ms. Events of other
	// processes are not reported here: they appear in Feed within about a second.
	Follow(ws identity.WorkspaceID) (news <-chan struct{}, stop func())
}
