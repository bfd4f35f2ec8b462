package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Chats keeps chat templates with their members. Methods that name a template answer
// chat.ErrNotFound if by's workspace never had one with that id; a deleted one is found. A loaded
// template holds by's membership and no other's, unless the method says so, and PromptGone as it
// is at that moment.
type Chats interface {
	// Add stores a new template.
	Add(ctx context.Context, t *chat.Template) error

	Get(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error)

	// Update loads a template, with the memberships of the users in also too, locks it, calls change
	// and saves what it recorded, all in one transaction, as Prompts.Update does: which of them are in
	// the workspace stays so until it ends. Members whose Role
	// change set to NoRole are removed.
	Update(ctx context.Context, by identity.Actor, id chat.ID, also []identity.UserID, change func(*chat.Template) error) (*chat.Template, error)

	// Invited answers the templates of a workspace, deleted ones included, of which the user, who is
	// but reserved, is an invited member; in the order of their ids.
	Invited(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) ([]chat.ID, error)
}

// ChatLists reads the lists of chat templates and of what belongs to one.
type ChatLists interface {
	// Visible lists the live templates for which Template.Access(by) is at least Viewer, newest first,
	// without instructions, model, and the configurations of agents and tools. With a filter a page can hold fewer
	// templates than its limit, or none, and still have a Next.
	Visible(ctx context.Context, by identity.Actor, f chat.Filter, q page.Query) (chat.Page, error)

	// Members lists a template's members by user id, its owner among them.
	Members(ctx context.Context, ws identity.WorkspaceID, id chat.ID, q page.Query) (chat.MemberPage, error)

	// Uses reports whether a live template of a workspace names a prompt template; by one of refs
	// (12 at most), or in any way if that is empty.
	Uses(ctx context.Context, ws identity.WorkspaceID, p prompt.ID, refs []string) (bool, error)
}
