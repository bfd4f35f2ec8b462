package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/ports"
)

// EndLeaked ends the API keys of any org whose complete tokens are in leaks. It returns a mail for each of them whose
// user can be notified. by is the system, in the request of the reporter.
func (s *Service) EndLeaked(ctx context.Context, by identity.Actor, leaks []account.Leak) ([]ports.Mail, error) {
	var mails []ports.Mail
	for _, l := range leaks {
		token, isKey := account.ParseToken(l.Token)
		if !isKey {
			continue
		}
		mail, err := s.endLeaked(ctx, by, l, token.Hash())
		if err != nil {
			return mails, err
		}
		if mail.To != "" {
			mails = append(mails, mail)
		}
	}
	return mails, nil
}

// endLeaked ends the key with a token, and returns the mail to its user, without an address if the user has none.
func (s *Service) endLeaked(
	ctx context.Context, by identity.Actor, l account.Leak, h account.Hash,
) (ports.Mail, error) {
	org, ws, id, err := s.keys.Holder(ctx, h)
	if errors.Is(err, account.ErrKeyNotFound) {
		return ports.Mail{}, nil
	}
	if err != nil {
		return ports.Mail{}, err
	}
	by.Org, by.Workspace = org, ws
	hasEnded := false
	k, err := s.keys.Update(ctx, by, id, func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
		hasEnded = w.EndLeaked(by, l, k, keys)
		return nil
	})
	if err != nil || !hasEnded {
		return ports.Mail{}, err
	}
	u, _, err := s.users.Get(ctx, org, k.AlertRecipient())
	if errors.Is(err, account.ErrUserNotFound) || (err == nil && !u.CanBeAlerted()) {
		return ports.Mail{}, nil
	}
	if err != nil {
		return ports.Mail{}, err
	}
	return leakMail(k, u.Email), nil
}

// Alert sends mails of EndLeaked. It tries all of them.
func (s *Service) Alert(ctx context.Context, mails []ports.Mail) error {
	var errs []error
	for _, m := range mails {
		errs = append(errs, s.deps.Mails.Mailer.Send(ctx, m))
	}
	return errors.Join(errs...)
}

// leakMail contains nothing that the reporter wrote: everyone with the token can report it.
func leakMail(k *account.Key, address string) ports.Mail {
	return ports.Mail{
		To: address, Subject: "An API key was found in public and has been revoked",
		Text: "The API key \"" + naming.Harmless(k.Name) + "\", whose token ends in " + k.Hint +
			", was reported as leaked. " +
			"It has been revoked, with all keys that were created with it.\n\nCreate a new key if you still need " +
			"one, and remove the old one from where it was published. The audit trail of the workspace shows where " +
			"it was " +
			"found (event api_key.leaked), and what it was used for.\n",
	}
}
