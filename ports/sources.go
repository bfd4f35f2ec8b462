package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sources keeps data sources, and what each workspace has taught about the names of columns. It
// finds and stores; it decides nothing. Methods that name a source answer source.ErrNotFound if the
// workspace has none with that id; a detached one is none.
type Sources interface {
	// Add stores the source that make makes, and adds its Learnt to the workspace's memory. others
	// counts the sources of by's workspace: nobody adds one, or deletes the workspace, until this one is
	// stored. make may run again after a conflict, as changes of Prompts do. source.ErrAlreadyAttached
	// if another one of the workspace has its type and Location.Key, identity.ErrWorkspaceNotFound if
	// the workspace was deleted.
	Add(ctx context.Context, by identity.Actor, make func(others int) (*source.Source, error)) error

	// Get answers a source; its Learnt is nil, as in all that is read.
	Get(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error)

	// List lists the sources of a workspace, newest first.
	List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (page.Of[source.Source], error)

	// Through lists the sources that read through a connection, newest first; through any if none is
	// named.
	Through(ctx context.Context, ws identity.WorkspaceID, through connection.ID) ([]source.Source, error)

	// Update changes a source and saves it, with the events that change recorded and what it Learnt,
	// all in one transaction, as Prompts.Update does. One that change Detached is removed.
	// source.ErrAlreadyAttached as in Add.
	Update(ctx context.Context, ws identity.WorkspaceID, id source.ID, change func(*source.Source) error) (*source.Source, error)

	// UpdateThrough changes all sources that read through a connection, as Update does, oldest first.
	UpdateThrough(ctx context.Context, ws identity.WorkspaceID, through connection.ID, change func(*source.Source) error) error

	// Memory answers what the workspace has taught for a type; of more than 2000 names of columns, the
	// 2000 that were taught last.
	Memory(ctx context.Context, ws identity.WorkspaceID, t source.TypeKey) (source.Memory, error)
}
