package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// Record stores what the directory sent, and what became of it.
func (s *Directory) Record(ctx context.Context, by identity.Actor, r account.DirectoryRequest) error {
	return s.requests.Add(ctx, by, account.NewDirectoryRequest(by, r), account.MaxDirectoryRequests)
}

// Requests lists what the directory of by's org sent within account.DirectoryRequestsKept, the newest first; the
// requests of an outcome, or all if it is empty. by is an operator or the system.
func (s *Directory) Requests(
	ctx context.Context, by identity.Actor, outcome account.DirectoryOutcome, q page.Query,
) (account.DirectoryRequestPage, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.DirectoryRequestPage{}, err
	}
	return s.requests.List(ctx, by.Org, outcome, by.At.Add(-account.DirectoryRequestsKept), q)
}
