package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Chats stores chat templates with their members. Methods that name a template return chat.ErrNotFound
// if by's workspace never had one with that id. A deleted template is found. A loaded template has the
// grant of by only, and PromptGone as of that moment.
type Chats interface {
	// Add stores a new template.
	Add(ctx context.Context, t *chat.Template) error

	// Get returns a template without its members.
	Get(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error)

	// Update loads a template, locks it, calls change and saves what it recorded, with ChangedMembers,
	// all in one transaction, as Prompts.Update does. A change of Replies is saved even without an event.
	Update(ctx context.Context, by identity.Actor, id chat.ID, change func(*chat.Template) error) (*chat.Template,
		error)

	// UpdateFor is Update for a change that names users, who are passed in their order. Until the
	// transaction ends, their memberships of the workspace cannot change.
	UpdateFor(ctx context.Context, by identity.Actor, id chat.ID, users []identity.UserID,
		change func(*chat.Template, []chat.Party) error) (*chat.Template, error)

	// Invited returns a workspace's templates, including deleted ones, that have user as an invited member, ordered by
	// id. user is a reserved id (account.InvitationID.Reserved).
	Invited(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) ([]chat.ID, error)

	// Waiting returns a template's invited members, ordered by id.
	Waiting(ctx context.Context, ws identity.WorkspaceID, id chat.ID) ([]identity.UserID, error)
}

// ChatVersions reads the versions of chat templates, including deleted ones. Chats saves them. The lists are empty, and
// Get returns chat.ErrVersionNotFound, if the workspace never had the template.
type ChatVersions interface {
	// List lists a template's versions, latest first.
	List(ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query) (chat.VersionPage, error)

	// Get returns the version that ref names by number or id.
	Get(ctx context.Context, ws identity.WorkspaceID, template chat.ID, ref chat.VersionRef) (*chat.Version, error)

	// Publications lists which version was published when, latest first.
	Publications(ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query) (chat.PublicationPage,
		error)
}

// ChatLists reads the lists of chat templates and of what belongs to one.
type ChatLists interface {
	// Visible lists the live templates for which Template.Access(by) is at least Viewer, newest first,
	// without instructions, model, and the configurations of agents and tools. With a filter a page can
	// hold fewer templates than its limit, or none, and still have a Next.
	Visible(ctx context.Context, by identity.Actor, f chat.Filter, q page.Query) (chat.Page, error)

	// Members lists a template's members by user id, including its owner.
	Members(ctx context.Context, ws identity.WorkspaceID, id chat.ID, q page.Query) (chat.MemberPage, error)

	// Member returns one of Members, or chat.ErrMemberNotFound.
	Member(ctx context.Context, ws identity.WorkspaceID, id chat.ID, user identity.UserID) (chat.Member, error)

	// ConnectionUses returns live templates that reply through a connection, or through any if id is empty: those for
	// which Template.Access(by) is at least Viewer, ordered by connection and template, newest first, at most 1,000.
	ConnectionUses(ctx context.Context, by identity.Actor, id connection.ID) ([]chat.ConnectionUse, error)

	// Forwarding returns a workspace's templates, including deleted ones, whose turns a webhook gets, ordered by id.
	Forwarding(ctx context.Context, ws identity.WorkspaceID, id webhook.ID) ([]chat.ID, error)

	// Uses returns the first limit live templates in a workspace, by id, that use a prompt template by one of refs (at
	// most 14), or by any reference if refs is empty.
	Uses(ctx context.Context, ws identity.WorkspaceID, p prompt.ID, refs []string, limit int) ([]prompt.Use, error)
}
