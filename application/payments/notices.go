package payments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// notify gives the notices that are due, each once however often and on however many nodes it is called,
// and queues their mails to the owners if the org wants them. It returns the customer.
func (s *Service) notify(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error) {
	now, err := t.now(ctx, by, c)
	if err != nil || len(c.DueNotices(now, t.Grace)) == 0 {
		return c, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		var notices []payment.Notice
		if c, err = tx.Payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
			notices = c.Notify(mirrorActor(by), now, t.Grace)
			return nil
		}); err != nil {
			return err
		}
		notices = slices.DeleteFunc(notices,
			func(n payment.Notice) bool { return !slices.Contains(t.MailedNotices, n.Kind) })
		if len(notices) == 0 {
			return nil
		}
		owners, err := ownersOf(ctx, tx.Workspaces, by)
		if err != nil {
			return err
		}
		for _, n := range notices {
			for _, owner := range owners {
				if err := tx.Jobs.Enqueue(ctx, job.New(mirrorActor(by), payment.NoticeJob, n.Subject(owner.User),
					by.At)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ownersOf returns the people who own by's workspace.
func ownersOf(ctx context.Context, workspaces ports.Workspaces, by identity.Actor) ([]account.Member, error) {
	var owners []account.Member
	for q := (page.Query{Limit: 100}); ; {
		members, err := workspaces.Members(ctx, by.Org, by.Workspace, q)
		if err != nil {
			return nil, err
		}
		for _, m := range members.Items {
			if m.Role == identity.Owner && !m.Service {
				owners = append(owners, m)
			}
		}
		if members.Next == "" {
			return owners, nil
		}
		q.After = members.Next
	}
}

// MailNotice mails a notice to an owner of by's workspace. subject is payment.Notice.Subject. It returns
// nil if the notice is forgotten, or if the user no longer owns the workspace. by is the system.
func (s *Service) MailNotice(ctx context.Context, by identity.Actor, subject string) error {
	t, err := s.terms(by)
	if err != nil {
		return ignoring(err)
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return ignoring(err)
	}
	n, user := c.ParseNoticeSubject(subject)
	if n == nil {
		return nil
	}
	m, err := s.deps.Workspaces.Member(ctx, by.Org, by.Workspace, user)
	if errors.Is(err, account.ErrMemberNotFound) || (err == nil && (m.Role != identity.Owner || m.Email == "")) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := s.deps.Workspaces.Find(ctx, by.Org, string(by.Workspace))
	if err != nil {
		return ignoring(err)
	}
	return s.deps.Mailer.Send(ctx, noticeMail(n, m.Email, w))
}

// noticeMail returns a notice's mail. It has no links, because people who get it know their application, and names the
// workspace by its slug, because a name could hold a message of someone else.
func noticeMail(n *payment.Notice, address string, w *account.Workspace) ports.Mail {
	subject, text := "", ""
	date := func(key string) string {
		now, err := time.Parse(time.RFC3339Nano, fmt.Sprint(n.Data[key]))
		if err != nil {
			return "soon"
		}
		return now.UTC().Format("2 January 2006, 15:04") + " UTC"
	}
	switch n.Kind {
	case payment.PaymentFailed:
		subject = "A payment failed"
		text = "A payment for your subscription failed. You can use it until " + date("entitled_until") + ".\n\n" +
			"Please add another payment method, or pay the open invoice."
	case payment.TrialEnding:
		subject = "Your trial ends soon"
		text = "Your trial ends on " + date("trial_end") + "."
		if n.Data["has_payment_method"] != true {
			text += "\n\nPlease add a payment method to keep your subscription."
		}
	case payment.CardExpiring:
		subject = "Your card expires soon"
		text = fmt.Sprintf("The card that ends in %v expires at the end of %v/%v.\n\n"+
			"Please add another payment method.",
			n.Data["last4"], n.Data["exp_month"], n.Data["exp_year"])
	}
	return ports.Mail{To: address, Subject: subject,
		Text: "Workspace: " + w.Slug + "\n\n" + strings.TrimSpace(text) + "\n"}
}
