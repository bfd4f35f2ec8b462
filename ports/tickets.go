package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Tickets stores tickets until they are used, and resolves the proofs that they hold.
type Tickets interface {
	// Add stores a ticket.
	Add(ctx context.Context, t session.Ticket) error

	// Take returns a ticket of org and marks it as used, so that only one of several concurrent calls gets it. Returns
	// identity.ErrUnauthenticated if the ticket does not exist, or has expired at now.
	Take(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (*session.Ticket, error)

	// Resume returns a ticket of org that Take returned, any number of times until account.ResumeWithin after the last
	// call of either. Returns identity.ErrUnauthenticated if the ticket does not exist, or if that time is over at now.
	Resume(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (*session.Ticket, error)

	// Proven returns the principal behind each proof in org, in order. For a key, revoked and expired
	// ones included, it is the key's user with its membership. For a sign-in, it has no key. If the proof names a
	// workspace, the membership is the present one there; it is empty if the user is no member, or the workspace was
	// deleted. The principal is nil if not found. The caller must check whether the proof is still valid. The
	// result is never older than the call, which runs a few statements however many proofs there are.
	Proven(ctx context.Context, org identity.OrgID, proofs []session.Proof) ([]*session.Principal, error)
}
