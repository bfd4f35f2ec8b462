package payments_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// overdue returns a service whose workspace has a failed renewal since now.
func overdue(t *testing.T) *mockedService {
	t.Helper()
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status, s.kept.Subscription.PastDueSince = payment.PastDue, now
	failed := held(payment.PastDue)
	s.customers.Wallet(any, any).AnyTimes().Return(payment.Wallet{Methods: s.kept.Methods, Default: "pm_1"}, nil)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return([]payment.GatewaySubscription{failed}, nil)
	s.subscriptions.Invoices(any, any, any).AnyTimes().Return(nil, nil)
	return s
}

func TestANoticeIsGivenOnce(t *testing.T) {
	system := identity.System("org", "acme", "test", now)
	for name, tt := range map[string]struct {
		mailed []payment.NoticeKind
		mails  int
	}{
		"and mailed to each owner if the org wants it": {[]payment.NoticeKind{payment.PaymentFailed}, 2},
		"and not mailed otherwise":                     {[]payment.NoticeKind{payment.TrialEnding}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := overdue(t)
			s.terms.MailedNotices = tt.mailed
			if tt.mails > 0 {
				s.workspaces.EXPECT().Members(any, identity.OrgID("org"), identity.WorkspaceID("acme"),
					any).Return(account.MemberPage{Items: []account.Member{
					{User: "ann", Role: identity.Owner}, {User: "robot", Role: identity.Owner, Service: true},
					{User: "bob", Role: identity.Owner}, {User: "eve", Role: identity.Admin},
				}}, nil)
			}
			for range 3 { // of the same event, or others about the same renewal
				s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox",
					payment.CustomerID("cus_1")).Return([]payment.Event{{ID: "evt"}}, nil)
				s.inbox.EXPECT().Save(any, identity.OrgID("org"), any).Return(nil)
				s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox",
					payment.CustomerID("cus_1")).Return(nil, nil)
				require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
			}
			assert.That(t, len(s.kept.Notices) == 1 && s.kept.Notices[0].Kind == payment.PaymentFailed,
				"notices %+v", s.kept.Notices)
			queued := 0
			if j, is := s.queued[payment.NoticeJob]; is {
				queued = tt.mails
				n, user := s.kept.ParseNoticeSubject(j.Subject)
				assert.That(t, n != nil && user == "bob" && j.Due.Equal(now), "queued %+v", j)
			}
			assert.Equal(t, "queued mails", queued, tt.mails)
		})
	}
}

func TestMailNotice(t *testing.T) {
	system := identity.System("org", "acme", "test", now)
	notices := map[payment.NoticeKind]struct {
		data map[string]interface{}
		says string
	}{
		payment.PaymentFailed: {map[string]interface{}{"entitled_until": now.AddDate(0, 0, 7).Format(time.RFC3339Nano)},
			now.AddDate(0, 0, 7).Format("2 January 2006")},
		payment.TrialEnding: {map[string]interface{}{"trial_end": "2026-04-01T00:00:00Z", "has_payment_method": false},
			"add a payment method"},
		payment.CardExpiring: {map[string]interface{}{"last4": "4242", "exp_month": 3.0, "exp_year": 2026.0},
			"4242 expires at the end of 3/2026"},
	}
	subjectOf := func(kind payment.NoticeKind) string { return (&payment.Notice{Kind: kind, Key: "k"}).Subject("ann") }
	for kind, tt := range notices {
		t.Run(string(kind), func(t *testing.T) {
			s := mockedWith(t, subscribed("pm_1"))
			s.kept.Notices = []payment.Notice{{Kind: kind, Key: "k", Data: tt.data}}
			s.workspaces.EXPECT().Member(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme"),
				identity.UserID("ann")).Return(account.Member{User: "ann", Email: "ann@example.com",
				Role: identity.Owner}, nil)
			s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"),
				"acme").Return(&account.Workspace{ID: "acme", Slug: "acme-slug", Name: "CALL 0900"}, nil)
			s.mailer.EXPECT().Send(s.ctx, any).DoAndReturn(func(_ context.Context, m ports.Mail) error {
				assert.That(t, m.To == "ann@example.com" && m.Subject != "" && strings.Contains(m.Text, tt.says) &&
					strings.Contains(m.Text, "acme-slug") && !strings.Contains(m.Text, "CALL"), "mail %+v", m)
				return errOutage
			})
			require.ErrorIs(t, s.MailNotice(s.ctx, system, subjectOf(kind)), errOutage)
		})
	}
	for name, member := range map[string]func() (account.Member, error){
		"no longer a member": func() (account.Member, error) { return account.Member{}, account.ErrMemberNotFound },
		"no longer an owner": func() (account.Member, error) {
			return account.Member{Email: "ann@example.com", Role: identity.Admin}, nil
		},
	} {
		t.Run("nothing is mailed to someone who is "+name, func(t *testing.T) {
			s := mockedWith(t, subscribed("pm_1"))
			s.kept.Notices = []payment.Notice{{Kind: payment.TrialEnding, Key: "k"}}
			s.workspaces.EXPECT().Member(s.ctx, any, any, any).Return(member())
			require.NoError(t, s.MailNotice(s.ctx, system, subjectOf(payment.TrialEnding)))
		})
	}
	t.Run("a notice that is forgotten is not mailed", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		require.NoError(t, s.MailNotice(s.ctx, system, subjectOf(payment.TrialEnding)))
	})
	t.Run("an error while the owners are listed gives the notice later", func(t *testing.T) {
		s := overdue(t)
		s.terms.MailedNotices = payment.NoticeKinds()
		s.workspaces.EXPECT().Members(any, any, any, page.Query{Limit: 100}).Return(account.MemberPage{}, errOutage)
		require.ErrorIs(t, s.Audit(s.ctx, system), errOutage)
	})
}
