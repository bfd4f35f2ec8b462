package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// KeyRequests counts requests with API keys by day.
type KeyRequests interface {
	// AddRequests adds to the counts of keys of org on days. It ignores keys that do not exist. It removes from
	// requests what it has stored, so that a call after an error counts nothing twice.
	AddRequests(ctx context.Context, org identity.OrgID, requests account.KeyRequests) error

	// Requests returns the counts for a workspace's keys on account.RequestDays days, the last of which is now's.
	Requests(
		ctx context.Context, ws identity.WorkspaceID, ids []identity.KeyID, now time.Time,
	) (account.KeyRequests, error)
}
