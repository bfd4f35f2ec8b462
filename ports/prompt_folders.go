package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// PromptFolders stores the shares of folders of prompt templates. A folder needs no template: any path is one.
type PromptFolders interface {
	// Folder returns a folder with what by was granted on it and on the folders above it.
	Folder(ctx context.Context, by identity.Actor, path string) (*prompt.SharedFolder, error)

	// Update calls change with a folder, a user, and the user's share of that folder, or nil. It saves
	// what change recorded, in one transaction. Until the transaction ends, neither shares of folders nor memberships
	// of the workspace change. change may run again after a conflict.
	Update(ctx context.Context, by identity.Actor, path string, user identity.UserID,
		change func(*prompt.SharedFolder, prompt.Recipient, *prompt.FolderShare) error) error

	// UpdateShare is Update for an existing share and its folder. prompt.ErrFolderShareNotFound if by's workspace has
	// no such share.
	UpdateShare(ctx context.Context, by identity.Actor, id prompt.FolderShareID,
		change func(*prompt.SharedFolder, prompt.FolderShare) error) error

	// Share returns a share with its folder. prompt.ErrFolderShareNotFound if by's workspace has no such share.
	Share(ctx context.Context, by identity.Actor, id prompt.FolderShareID) (*prompt.SharedFolder, prompt.FolderShare,
		error)

	// Shares lists the shares in a folder and its parents, by id, including expired shares; the empty path lists the
	// shares of the whole workspace.
	Shares(ctx context.Context, ws identity.WorkspaceID, path string, q page.Query) (prompt.FolderSharePage, error)

	// Reshares reports whether renaming a template from before to after changes which shares of folders apply to it.
	// Shares that have expired at by.At do not count.
	Reshares(ctx context.Context, by identity.Actor, previous, next string) (bool, error)
}
