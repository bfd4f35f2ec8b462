package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// PreviewInvitation returns what the bearer of an invitation's token may see before accepting it.
func (s *Service) PreviewInvitation(
	ctx context.Context, org identity.OrgID, token string,
) (*account.InvitationPreview, error) {
	t, ok := account.ParseInvitationToken(token)
	if !ok {
		return nil, account.ErrInvitationNotFound
	}
	_, preview, err := s.invitations.Find(ctx, org, t.Hash())
	return preview, err
}

// Joined is the outcome of Join.
type Joined struct {
	session.Opened
	// Asks is the address whose mailbox is to be asked for a confirmation, or for a sign-in if the address has an
	// account. Empty: none.
	Asks string
}

// Join accepts an invitation for a person without an account, in an org without issuers: it creates the account and
// opens a session, or does nothing. by is the system, in the request of the browser. account.ErrSignInRequired if the
// org has issuers or the address has an account: the inviter has the token too, and must not become that person.
// Otherwise it returns the errors of AcceptInvitation.
func (s *Service) Join(
	ctx context.Context, by identity.Actor, org *identity.Org, token, name, agent string,
) (out Joined, err error) {
	t, ok := account.ParseInvitationToken(token)
	if !ok {
		return Joined{}, account.ErrInvitationNotFound
	}
	i, _, err := s.invitations.Find(ctx, org.ID, t.Hash())
	if err != nil {
		return Joined{}, err
	}
	u, err := i.NewInvitedUser(by, org, name)
	if err != nil {
		return Joined{}, err
	}
	member := by
	member.Workspace = i.Workspace
	limits, err := s.deps.Quotas(ctx, member)
	if err != nil {
		return Joined{}, err
	}
	person := by
	person.User = u.ID
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Users.Add(ctx, u); err != nil {
			return err
		}
		if _, err := acceptIn(ctx, tx, person, i.Workspace, t, limits); err != nil {
			return err
		}
		out.Opened, err = s.deps.OpenSession(ctx, tx, by, u.ID, agent)
		return err
	})
	if errors.Is(err, account.ErrEmailTaken) {
		err, out.Asks = account.ErrSignInRequired, i.Email
	}
	if err == nil {
		out.Asks = i.Email
	}
	return out, err
}
