package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// PromptRequests reads the activation requests of prompt templates, and the checks of their versions. Prompts saves
// both with the template.
type PromptRequests interface {
	// Request returns a template's activation request, or prompt.ErrRequestNotFound. An empty template means every
	// template of the workspace.
	Request(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, r prompt.RequestID) (*prompt.ActivationRequest,
		error)

	// OpenRequests returns a template's waiting requests, oldest first.
	OpenRequests(ctx context.Context, ws identity.WorkspaceID, id prompt.ID) ([]prompt.ActivationRequest, error)

	// Requests lists a template's requests, newest first; only those in a state, unless that is empty.
	Requests(
		ctx context.Context, ws identity.WorkspaceID, id prompt.ID, state prompt.RequestState, q page.Query,
	) (prompt.RequestPage, error)

	// Checks returns a template version's checks by name.
	Checks(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, v prompt.VersionID) ([]prompt.Check, error)
}
