package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// SourceValidations stores the last validation of each source. Methods return source.ErrNotFound if the workspace has
// no source with that id.
type SourceValidations interface {
	// Validation returns a source's last validation, or a zero Validation.
	Validation(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Validation, error)

	// UpdateValidation changes a source's last validation, or a zero Validation, and saves it with the events that
	// change recorded. Changes of one source run one after another.
	UpdateValidation(ctx context.Context, ws identity.WorkspaceID, id source.ID,
		change func(*source.Validation) error) (*source.Validation, error)
}
