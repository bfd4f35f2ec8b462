package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// ProviderSessions stores what sign-ins at OpenID providers opened, for when they end there.
type ProviderSessions interface {
	// End loads the live sessions of by's org that a sign-in opened, user by user, and calls change with the sessions
	// of each user. It saves the sessions that change ended, and removes the sign-in codes, all in one transaction.
	// Only the fields of from that are not empty select; its Issuer is never empty.
	End(ctx context.Context, by identity.Actor, from session.ProviderSession,
		change func(p *account.Person, live []*session.Session) error) error

	// Receive notes that a logout token of org was received, until it can be forgotten. account.ErrLogoutToken if it
	// was noted before.
	Receive(ctx context.Context, org identity.OrgID, token account.Hash, end time.Time) error
}

// Captures stores who joined a workspace because of the domain of their address.
type Captures interface {
	// Capture loads a workspace of by's org, by its slug, with the membership of user, calls change, saves the
	// workspace, and notes that user was captured, in one transaction. It does nothing and returns false if user was
	// captured before, or if there is no such workspace.
	Capture(ctx context.Context, by identity.Actor, slug string, user identity.UserID,
		change func(*account.Workspace) error) (isCaptured bool, err error)
}
