package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Tickets keeps tickets until they are used.
type Tickets interface {
	// Add stores a ticket.
	Add(ctx context.Context, t account.Ticket) error

	// Take answers a ticket of org and removes it, so that of all who take it at once one has it.
	// identity.ErrUnauthenticated if there is none, or if it has expired at now.
	Take(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (*account.Ticket, error)
}
