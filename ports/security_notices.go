package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// SecurityNotices stores what people are told by mail. The other stores of accounts add to it: in the transaction of
// each event for which account.SecurityNoticeOf returns a notice, they add the notice and queue its mail
// (account.SecurityNoticeJob) for the time that account.SecurityNotices.Due returns.
type SecurityNotices interface {
	// Change loads the notices of a user of by's org, which are empty if the user has none or does not exist. It calls
	// change, and saves them, in one transaction. Concurrent calls for one user wait for each other. Notices are
	// forgotten a day after their last change.
	Change(ctx context.Context, by identity.Actor, user identity.UserID,
		change func(*account.SecurityNotices) error) error
}
