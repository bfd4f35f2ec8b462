package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Prompts stores prompt templates and what belongs to them. It makes no decisions about access, with one exception: a
// reference finds only versions that by may see (prompt.Template.SeesDrafts).
//
// Methods that name a template return prompt.ErrNotFound if by's workspace never had one with that id.
// A deleted template is found. A loaded template has only the grant of by. The Update methods load a template, call
// change, and save what change recorded, all in one transaction. The row is locked, so that changes run one after
// another. Nothing is saved if change fails. change may run again after a conflict, so it does no I/O and gets no
// context.
type Prompts interface {
	// Add stores a new template. prompt.ErrNameTaken if a live one has its name.
	Add(ctx context.Context, t *prompt.Template) error

	// Get returns a template without its versions and shares.
	Get(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error)

	// Update changes a template, and saves its ChangedShares. prompt.ErrNameTaken as in Add.
	Update(ctx context.Context, by identity.Actor, id prompt.ID, change func(*prompt.Template) error) (*prompt.Template,
		error)

	// UpdateFor is Update for a change that names a user. Until the transaction ends, the user's
	// membership of the workspace cannot change.
	UpdateFor(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
		change func(*prompt.Template, prompt.Recipient) error) (*prompt.Template, error)

	// Lock returns a template with the version that ref names, nil if ref names none. Until the transaction ends,
	// every change of the template, its versions and its shares waits. Outside a transaction the lock ends at once.
	Lock(
		ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	) (*prompt.Template, *prompt.VersionInfo, error)

	PromptVersions
}

// PromptVersions is the part of Prompts for a template's versions.
type PromptVersions interface {
	// GetVersion returns a nil version if ref names none. If by may not see the template, it returns no
	// version and does not look for one: the response time must not reveal that there is such a
	// template.
	GetVersion(
		ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	) (*prompt.Reading, *prompt.Version, error)

	// GetVersionByName is GetVersion of the live template with that name (prompt.NameKey);
	// prompt.ErrNotFound if by's workspace has none.
	GetVersionByName(
		ctx context.Context, by identity.Actor, name string, ref prompt.Ref,
	) (*prompt.Reading, *prompt.Version, error)

	// Referenced returns the version that a reference stands for (prompt.Reference), as GetVersion does for by, and
	// whether it stays at a version because the owner of its holder may not read the one that it names.
	Referenced(
		ctx context.Context, by identity.Actor, r prompt.Reference,
	) (reading *prompt.Reading, v *prompt.Version, lost bool, err error)

	// Rollouts returns a template's running rollouts, by label; none if by's workspace has no such template.
	Rollouts(ctx context.Context, by identity.Actor, id prompt.ID) ([]prompt.Rollout, error)

	// UpdateVersion changes a template and one of its versions, nil if ref names none. It reads and
	// writes no content of the version, and it does not save Labels.
	UpdateVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
		change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error)

	// EditVersion is UpdateVersion for a change of the version's content and labels. used are the labels of the
	// template, with their rollouts. Labels that change gave to the version are removed from the template's other
	// versions. Each version that loses a label gets a new revision, and the UpdatedAt of the edited version.
	EditVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
		change func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) error) (*prompt.Template, error)

	// SetIncludes writes Includes and Pinned for a version in by's workspace. It must be called in the transaction that
	// saved the version, since it does not change the version's revision.
	SetIncludes(ctx context.Context, by identity.Actor, v *prompt.Version) error

	// AddVersion stores the version that change returns, with labels as in EditVersion.
	AddVersion(ctx context.Context, by identity.Actor, id prompt.ID,
		change func(t *prompt.Template, labels prompt.Labels) (*prompt.Version, error)) error
}

// PromptLists reads the lists of prompt templates and of what belongs to one.
type PromptLists interface {
	PromptOutlines

	PromptRequests

	// Visible lists the live templates for which Template.Access(by) is at least View, newest
	// first or by name; or the deleted ones that by can restore. With a filter or by name a page can hold fewer
	// templates than its limit, or none, and still have a Next.
	Visible(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query) (prompt.Page, error)

	// Versions lists a template's versions, highest number first, without text, messages, tools and
	// response format. It includes drafts only if drafts is true. A page ends early, but never before
	// its first item, if its versions would take more than about 1 MiB.
	Versions(
		ctx context.Context, ws identity.WorkspaceID, id prompt.ID, drafts bool, q page.Query,
	) (prompt.VersionPage, error)

	// Shares lists a template's shares by user id, including expired ones.
	Shares(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, q page.Query) (prompt.SharePage, error)

	// Share returns one share, or prompt.ErrShareNotFound.
	Share(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, user identity.UserID) (prompt.Share, error)

	// Reads returns how often each template version was read on each day since a day: the latest day first, then the
	// highest number, at most limit entries.
	Reads(
		ctx context.Context, ws identity.WorkspaceID, id prompt.ID, firstDay prompt.Day, limit int,
	) ([]prompt.Reads, error)

	// Activations lists a label's moves, or the activations if label is empty, latest first.
	Activations(
		ctx context.Context, ws identity.WorkspaceID, id prompt.ID, label string, q page.Query,
	) (page.Of[prompt.Activation], error)
}

// PromptOutlines is the part of PromptLists for folders and includes.
type PromptOutlines interface {
	// Outline returns the first limit live templates in a folder, in the order of NameKey, for which
	// Template.Access(by) is at least View. The empty folder has all of them.
	Outline(ctx context.Context, by identity.Actor, folder string, limit int) ([]prompt.Entry, error)

	// Includers returns the first limit live templates, by id, with an active or labelled version that includes a
	// template by one of refs (at most 14), or in any way if refs is empty. If seen is set, only those for which
	// Template.Access(by) is at least View.
	Includers(
		ctx context.Context, by identity.Actor, id prompt.ID, refs []string, isSeen bool, limit int,
	) ([]prompt.Use, error)
}
