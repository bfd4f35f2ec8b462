package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// SourceChanges stores hashes of the rows of sources, and what comparisons of them found. Methods return
// source.ErrNotFound if the workspace has no source with that id.
type SourceChanges interface {
	// Tracked returns what is kept from a source's rows; a zero one if there was no comparison.
	Tracked(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Tracked, error)

	// SaveChanges stores what a comparison found: change gets the source, locked, and what is kept of its rows. It
	// returns the changes, or nil: then nothing is stored. The events that change records on the source are
	// saved with them. Of each source the latest 100 changes are kept.
	SaveChanges(ctx context.Context, ws identity.WorkspaceID, id source.ID,
		change func(*source.Source, *source.Tracked) (*source.Changes, error)) error

	// Changes lists what a source's comparisons found, newest first.
	Changes(ctx context.Context, ws identity.WorkspaceID, id source.ID, q page.Query) (page.Of[source.Changes], error)
}
