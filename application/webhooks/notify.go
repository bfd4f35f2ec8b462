package webhooks

import (
	"context"
	"errors"
	"net/url"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// MailNotice tells an endpoint's owner by mail that it is failing or was disabled, if it still is, and they are still
// an admin. by is the system.
func (s *Service) MailNotice(ctx context.Context, by identity.Actor, endpoint webhook.ID) error {
	e, err := s.webhooks.Get(ctx, by.Workspace, endpoint)
	if errors.Is(err, webhook.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	text := ""
	switch {
	case e.Reason == webhook.Gone:
		text = "It was disabled, because it answered with the status 410."
	case e.Reason == webhook.Expired:
		text = "It was disabled, because no delivery has succeeded for five days."
	case e.Status() == webhook.Failing && e.FailureNotified:
		text = "No delivery has succeeded for an hour. After five days it will be disabled."
	default:
		return nil // it has recovered, or a user disabled it
	}
	m, err := s.deps.Workspaces.Member(ctx, e.Org, e.Workspace, e.Owner)
	if errors.Is(err, account.ErrMemberNotFound) || (err == nil && (m.Role < identity.Admin || m.Email == "")) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := s.deps.Workspaces.Find(ctx, e.Org, string(e.Workspace))
	if err != nil {
		return err
	}
	host := ""
	if u, err := url.Parse(e.URL); err == nil {
		host = u.Host
	}
	// The path is left out, since it may contain a secret, and so is the description, which someone else may have
	// written.
	return s.deps.Mailer.Send(ctx, ports.Mail{To: m.Email, Subject: "A webhook is failing",
		Text: "Workspace: " + w.Slug + "\nWebhook: " + string(e.ID) + " to " + host + "\n\n" + text +
			" Events that it missed can be replayed.\n"})
}
