package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Trials records which cards and customers an org's workspaces have used to start trials, for each account at a
// gateway.
type Trials interface {
	// Claim stores a trial's marks for by's workspace, and returns those that another workspace has claimed before,
	// which stay as they are. Of two concurrent transactions with the same mark, the second sees the first one's.
	Claim(
		ctx context.Context, by identity.Actor, account string, marks []payment.TrialMark,
	) (claims []payment.TrialMark, err error)

	// Release deletes the marks of by's workspace. Repeating it is not an error.
	Release(ctx context.Context, by identity.Actor, account string) error
}
