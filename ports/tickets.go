package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Tickets keeps tickets until they are used, and knows whom the proofs mean that they stand for.
type Tickets interface {
	// Add stores a ticket.
	Add(ctx context.Context, t account.Ticket) error

	// Take answers a ticket of org and removes it, so that of all who take it at once one has it.
	// identity.ErrUnauthenticated if there is none, or if it has expired at now.
	Take(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (*account.Ticket, error)

	// Proven answers whom each of some proofs means in org, in their order: by a key, revoked and expired
	// ones included, with its membership; by a sign-in, no key and no membership; nil for nobody. Whether
	// it still stands is the caller's to ask. The answer is never older than the call, and takes a few
	// statements however many proofs there are.
	Proven(ctx context.Context, org identity.OrgID, proofs []account.Proof) ([]*account.Principal, error)
}
