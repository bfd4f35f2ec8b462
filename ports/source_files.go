package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// SourceFiles stores what is known about uploaded files, without their content. It makes no decisions about access.
// Methods that name a file return source.ErrFileNotFound if the workspace has none with that id.
type SourceFiles interface {
	// Add stores a file of by's workspace, and its events. source.ErrFileLimit if the workspace has source.MaxFiles
	// already. Until the transaction ends, no other call can add one or delete the workspace.
	// identity.ErrWorkspaceNotFound if the workspace was deleted.
	Add(ctx context.Context, by identity.Actor, f *source.File) error

	// Get returns a file.
	Get(ctx context.Context, ws identity.WorkspaceID, id source.FileID) (*source.File, error)

	// List lists a workspace's files, newest first.
	List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (page.Of[source.File], error)

	// Update changes a file and saves it, with the events that change recorded, all in one transaction, as
	// Prompts.Update does. Until the transaction ends, every other change of the file waits. A file that change Removed
	// is deleted.
	Update(ctx context.Context, ws identity.WorkspaceID, id source.FileID,
		change func(*source.File) error) (*source.File, error)

	// Readers lists the sources that read a file, newest first.
	Readers(ctx context.Context, ws identity.WorkspaceID, id source.FileID) ([]source.Summary, error)
}

// FileParts stores the content of uploaded files in parts, which never change. Each part is sealed under the key of its
// file, so that it opens only in its place, and only whole.
type FileParts interface {
	// Put stores a part, and returns once it is on the disk. ErrUnavailable if there is no room for it.
	Put(ctx context.Context, ws identity.WorkspaceID, file source.FileID, part string, key, content []byte) error

	// Remove removes a file's parts; all of them if none is named. Parts that are being read stay readable.
	Remove(ctx context.Context, ws identity.WorkspaceID, file source.FileID, parts ...string) error

	// Sweep removes all parts that were stored before a time and that list does not return for their file.
	Sweep(ctx context.Context, end time.Time,
		list func(context.Context, identity.WorkspaceID, source.FileID) ([]string, error)) error
}
