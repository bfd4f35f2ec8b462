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
	// Request returns an activation request of a template, or prompt.ErrRequestNotFound. An empty template means
	// every template of the workspace.
	Request(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, r prompt.RequestID) (*prompt.ActivationRequest,
		error)

	// OpenRequests returns the requests of a template that wait, oldest first.
	OpenRequests(ctx context.Context, ws identity.WorkspaceID, id prompt.ID) ([]prompt.ActivationRequest, error)

	// Requests lists a template's requests, newest first; only those in a state, unless that is empty.
	Requests(
		ctx context.Context, ws identity.WorkspaceID, id prompt.ID, state prompt.RequestState, q page.Query,
	) (prompt.RequestPage, error)

	// Checks returns the checks of a version of a template by name.
	Checks(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, v prompt.VersionID) ([]prompt.Check, error)
}
