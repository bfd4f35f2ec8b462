package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/ports"
)

// InvitationMailer mails the links of invitations, within limits.
type InvitationMailer struct {
	Mailer ports.Mailer
	Limits account.MailLimits

	// Failed is called with the reason why an invitation was not mailed. The inviter has the link too, so nothing else
	// is lost.
	Failed func(ctx context.Context, i account.InvitationID, err error)
}

// Send sends the link to the person invited, unless a limit of mails was reached when i was stored. It returns
// whether a mail server accepted the mail. It must be called after i is committed.
func (m *InvitationMailer) Send(ctx context.Context, i *account.Invitation, ws *account.Workspace, url string) bool {
	if !i.Mailed() {
		return false
	}
	if err := m.Mailer.Send(ctx, invitationMail(i, ws, url)); err != nil {
		m.Failed(ctx, i.ID, err)
		return false
	}
	return m.Mailer.Delivers()
}

// invitationMail contains no text of the inviter except the workspace's name, quoted and sanitized: the mail comes from
// Atrium, and must not contain a message of the inviter.
func invitationMail(i *account.Invitation, ws *account.Workspace, url string) ports.Mail {
	return ports.Mail{
		To: i.Email, Subject: "You are invited to a workspace",
		Text: "You are invited to the workspace \"" + naming.Harmless(ws.Name) + "\".\n\nAccept within seven days:\n" +
			url +
			"\n\nIf you did not expect this, ignore it.\n",
	}
}
