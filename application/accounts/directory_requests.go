package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// Record stores what the directory of an org sent, and what became of it. The audit trails of the workspaces that its
// rules name note a refusal.
func (s *Directory) Record(
	ctx context.Context, by identity.Actor, org *identity.Org, r account.DirectoryRequest,
) error {
	request := account.NewDirectoryRequest(by, r)
	if err := s.requests.Add(ctx, by, request, account.MaxDirectoryRequests); err != nil ||
		request.Outcome != account.DirectoryRefused {
		return err
	}
	return noteForRules(ctx, s.workspaces, s.notes, by, org, identity.SCIMIssuer,
		func(ws identity.WorkspaceID) event.Note { return request.Refused(by, ws) })
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
