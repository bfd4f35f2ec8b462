package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// PromptReads counts how often versions of prompt templates are read.
type PromptReads interface {
	// AddReads adds reads to the daily counts of versions. It ignores versions that the workspace does not have. It
	// removes from reads what it has stored, so that a call after an error counts nothing twice. Cached responses stay
	// valid.
	AddReads(ctx context.Context, ws identity.WorkspaceID, reads map[prompt.Read]int64) error
}
