package accounts

import (
	"context"
	"errors"
	"strings"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/ports"
)

// SecurityNotices mails people what happened in their accounts, so that they notice if someone else did it.
type SecurityNotices struct {
	atomic ports.Atomic
	users  ports.Users
	mailer ports.Mailer
	org    OrgOf
}

// OrgOf returns the current settings of an org, and false if it is no longer configured.
type OrgOf func(identity.OrgID) (*identity.Org, bool)

// NewSecurityNotices returns the use case on these stores.
func NewSecurityNotices(atomic ports.Atomic, users ports.Users, m ports.Mailer, org OrgOf) *SecurityNotices {
	return &SecurityNotices{atomic: atomic, users: users, mailer: m, org: org}
}

// Mail mails a person's pending notices, or queues the mail again if it is too early. They are forgotten if the org or
// the person gets no such mails, or no mail server is configured. If the process stops after the mail was sent, it is
// sent twice. by is the system.
func (s *SecurityNotices) Mail(ctx context.Context, by identity.Actor, user identity.UserID) error {
	org, isConfigured := s.org(by.Org)
	u, _, err := s.users.Get(ctx, by.Org, user)
	if errors.Is(err, account.ErrUserNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	isMailed := isConfigured && !org.NoSecurityMails && u.CanBeAlerted() && s.mailer.Delivers()
	var mail account.NoticeMail
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.SecurityNotices.Change(ctx, by, user, func(n *account.SecurityNotices) error {
			if !isMailed {
				*n = account.SecurityNotices{}
			}
			mail = n.Next(by.At)
			return nil
		}); err != nil || !mail.Due.After(by.At) {
			return err
		}
		return tx.Jobs.Enqueue(ctx, job.New(by, account.SecurityNoticeJob, string(user), mail.Due))
	})
	if err != nil || len(mail.Notices) == 0 {
		return err
	}
	if err := s.mailer.Send(ctx, securityMail(u.Email, org, &mail)); err != nil {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		return tx.SecurityNotices.Change(ctx, by, user, func(n *account.SecurityNotices) error {
			n.Mailed(&mail, by.At)
			return nil
		})
	})
}

// securityTexts are the subject of a mail with one notice, and its line.
var securityTexts = map[account.SecurityNoticeKind]struct{ subject, line string }{
	account.PasskeyNotice: {"A passkey was added to your account", "a passkey was added"},
	account.KeyNotice:     {"An API key was created in your account", "an API key was created"},
	account.DeviceNotice: {"A new sign-in to your account",
		"a browser signed in that had not opened the account before"},
	account.OperatorNotice: {"You are an operator now", "the account became an operator of the organisation"},
}

// securityMail contains no text of others except the name of a key, quoted and sanitized, and no address: the person
// finds the details in the console.
func securityMail(address string, org *identity.Org, mail *account.NoticeMail) ports.Mail {
	lines := make([]string, len(mail.Notices))
	for i, n := range mail.Notices {
		lines[i] = "- " + n.At.UTC().Format("2 January 2006, 15:04") + " UTC: " + securityTexts[n.Kind].line
		if n.Name != "" {
			lines[i] += " (\"" + naming.Harmless(n.Name) + "\")"
		}
	}
	if mail.HasMore {
		lines = append(lines, "- and more of the same kind")
	}
	subject := "Changes to your account"
	if len(mail.Notices) == 1 && !mail.HasMore {
		subject = securityTexts[mail.Notices[0].Kind].subject
	}
	return ports.Mail{
		To: address, Subject: subject,
		Text: "Your account at " + naming.Harmless(org.Name) + ":\n\n" + strings.Join(lines, "\n") +
			"\n\nIf you did this, or expected it, there is nothing to do.\n\nIf you did not: sign in at\n" +
			org.BaseURL + "/console/\nand open the settings. Sign out everywhere, remove passkeys and revoke API " +
			"keys that you do not know, and tell an operator of your organisation.\n",
	}
}
