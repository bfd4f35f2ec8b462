package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sources stores data sources, and the column names that each workspace has taught. It makes no
// decisions about access. Methods that name a source return source.ErrNotFound if the workspace has
// none with that id. A detached source is not found.
type Sources interface {
	// Add stores the source that make returns, and adds its Learnt names to the workspace's memory. others
	// counts the sources of by's workspace: until this one is stored, no call can add one or delete the
	// workspace. make may run again after a conflict, as change functions of Prompts do.
	// source.ErrAlreadyAttached if another source of the workspace has its type and Location.Key.
	// identity.ErrWorkspaceNotFound if the workspace was deleted.
	Add(ctx context.Context, by identity.Actor, make func(others int) (*source.Source, error)) error

	// Get returns a source. Learnt is nil in all sources that are read.
	Get(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error)

	// List lists a workspace's sources, newest first.
	List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (page.Of[source.Source], error)

	// ListThrough lists the sources that read through a connection, newest first.
	ListThrough(ctx context.Context, ws identity.WorkspaceID, id connection.ID) ([]source.Summary, error)

	// Lock locks a source until the transaction ends, and returns it: until then every change of the
	// source waits. Outside a transaction the lock ends at once.
	Lock(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error)

	// Update changes a source and saves it, with the events that change recorded and its Learnt, all in
	// one transaction, as Prompts.Update does. A source that change Detached is removed.
	// source.ErrAlreadyAttached as in Add.
	Update(ctx context.Context, ws identity.WorkspaceID, id source.ID,
		change func(*source.Source) error) (*source.Source, error)

	// UpdateThrough changes all sources that read through a connection, as Update does, oldest first.
	UpdateThrough(ctx context.Context, ws identity.WorkspaceID, id connection.ID,
		change func(*source.Source) error) error

	// Memory returns what the workspace has taught for a type. If it has taught more than 2000 column
	// names, only the latest 2000.
	Memory(ctx context.Context, ws identity.WorkspaceID, t source.TypeKey) (column.Memory, error)
}
