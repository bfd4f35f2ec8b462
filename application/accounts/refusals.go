package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// noteRefusedSignIn notes that someone with a genuine token has no account and gets none. It keeps err.
func (s *Service) noteRefusedSignIn(
	ctx context.Context, by identity.Actor, org *identity.Org, issuer string, err error,
) error {
	if !errors.Is(err, account.ErrSignUpClosed) && !errors.Is(err, account.ErrClaimMissing) {
		return err
	}
	f, _ := errors.AsType[*fault.Error](err)
	failure := noteForRules(ctx, s.workspaces, s.deps.Notes, by, org, issuer, func(ws identity.WorkspaceID) event.Note {
		return account.RefusedSignIn(by, ws, issuer, f.Code)
	})
	if failure != nil {
		return failure
	}
	return err
}

// noteForRules writes a note in each of the workspaces that org's rules for an issuer name.
func noteForRules(
	ctx context.Context, workspaces ports.Workspaces, notes ports.Notes, by identity.Actor, org *identity.Org,
	issuer string, note func(identity.WorkspaceID) event.Note,
) error {
	for _, slug := range org.RuledBy(issuer) {
		w, err := workspaces.Find(ctx, by.Org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if w.DeletedAt.IsZero() {
			notes.Note(ctx, note(w.ID))
		}
	}
	return nil
}
