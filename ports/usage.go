package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Usage counts what workspaces have stored.
type Usage interface {
	// Of returns what a workspace uses. In a transaction that has added to it, the addition counts, and
	// every other transaction that adds waits until this one ends: if several compete for the last free
	// place, only one succeeds.
	Of(ctx context.Context, ws identity.WorkspaceID) (quota.Amounts, error)
}

// Quotas returns the limits of the workspace that by acts in.
type Quotas func(ctx context.Context, by identity.Actor) (quota.Amounts, error)
