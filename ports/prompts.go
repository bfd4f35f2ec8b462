package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Prompts keeps prompt templates and what belongs to them. It finds and stores; it decides
// nothing, but for the versions that a reference of by's may name (prompt.Template.SeesDrafts).
//
// Methods that name a template answer prompt.ErrNotFound if by's workspace never had one with
// that id; a deleted one is found. A loaded template holds by's share and no other's, unless the
// method says so. The Update methods load, call change, and save what it recorded, all in one
// transaction: the row is locked, so that changes follow one another; nothing is saved if change
// fails; change may run again after a conflict, so it does no I/O and is given no context.
type Prompts interface {
	// Add stores a new template. prompt.ErrNameTaken if a live one has its name.
	Add(ctx context.Context, t *prompt.Template) error

	Get(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error)

	// GetVersion answers a nil version if ref names none. It is the read that applications repeat
	// all day, so of the template it fills in only what decides about reading, and what readers of
	// a version are told: ID, Workspace, Owner, Name, Type, Visibility, Active.Version, DeletedAt
	// and Shares. (Whoever acts for an owner who left may read without that.) Of a template that by
	// may not see it answers no version, and looks for none: by must not be able to tell from the
	// time it takes that there is such a template.
	GetVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref) (*prompt.Template, *prompt.Version, error)

	// GetVersionByName is GetVersion of the live template with that name (prompt.NameKey);
	// prompt.ErrNotFound if by's workspace has none.
	GetVersionByName(ctx context.Context, by identity.Actor, name string, ref prompt.Ref) (*prompt.Template, *prompt.Version, error)

	// Update changes a template; shares of the users in also are loaded too, and which of them are
	// members of the workspace: while change decides about them, nobody leaves or joins it. Shares
	// whose Access change set to None are removed, and those that it left alone are not written.
	// prompt.ErrNameTaken as in Add.
	Update(ctx context.Context, by identity.Actor, id prompt.ID, also []identity.UserID, change func(*prompt.Template) error) (*prompt.Template, error)

	// UpdateWith changes a template, loaded with Labelled, and one of its versions, nil if ref names
	// none. Labels that change gave to the version leave all others of the template; each version
	// that loses some counts one revision, made at the version's UpdatedAt.
	UpdateWith(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, change func(*prompt.Template, *prompt.Version) error) (*prompt.Template, error)

	// AddVersion stores the version that change makes, with labels and Labelled as in UpdateWith.
	AddVersion(ctx context.Context, by identity.Actor, id prompt.ID, change func(*prompt.Template) (*prompt.Version, error)) error
}

// PromptLists reads the lists of prompt templates and of what belongs to one.
type PromptLists interface {
	// Visible lists the live templates for which Template.Access(by) is at least View, newest
	// first. With a filter a page can hold fewer templates than its limit, or none, and still have a Next.
	Visible(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query) (prompt.Page, error)

	// Versions lists a template's versions, highest number first, without text, messages, tools
	// and response format; drafts only if drafts says so. A page ends early, but never before its
	// first item, where its versions would take more than about 1 MiB.
	Versions(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, drafts bool, q page.Query) (prompt.VersionPage, error)

	// Shares lists a template's shares by user id, expired ones included.
	Shares(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, q page.Query) (prompt.SharePage, error)

	// Share answers one of them; prompt.ErrShareNotFound if there is none.
	Share(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, user identity.UserID) (prompt.Share, error)

	// Activations lists the ledger, latest first.
	Activations(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, q page.Query) (page.Of[prompt.Activation], error)
}
