package accounts_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// noticing is a person's notices, which are stored as they are left.
type noticing struct {
	*accounts.SecurityNotices
	stored account.SecurityNotices
	org    *identity.Org
	user   *account.User
	jobs   []job.Job
	mails  []ports.Mail
	silent bool  // whether there is no mail server
	fail   error // of it
}

func newNoticing(t *testing.T, kinds ...account.SecurityNoticeKind) *noticing {
	t.Helper()
	c := gomock.NewController(t)
	n := &noticing{
		org: &identity.Org{ID: "org", Name: "Acme http://evil.example", BaseURL: "https://atrium.example.com"},
		user: &account.User{ID: "ann", Org: "org", Email: "ann@example.com", EmailVerified: true,
			EmailVerifiedBy: account.VerifiedByOperator},
	}
	for _, kind := range kinds {
		n.stored.Add(account.SecurityNotice{User: "ann", Kind: kind, Subject: "it_" + string(kind), At: now})
	}
	users, notices := mocks.NewMockUsers(c), mocks.NewMockSecurityNotices(c)
	users.EXPECT().Get(gomock.Any(), identity.OrgID("org"), gomock.Any()).DoAndReturn(
		func(context.Context, identity.OrgID, identity.UserID) (*account.User, []account.Membership, error) {
			if n.user == nil {
				return nil, nil, account.ErrUserNotFound
			}
			return n.user, nil, nil
		}).AnyTimes()
	notices.EXPECT().Change(gomock.Any(), gomock.Any(), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, _ identity.UserID, change func(*account.SecurityNotices) error,
		) error {
			return change(&n.stored)
		}).AnyTimes()
	jobs, mailer, atomic := mocks.NewMockJobs(c), mocks.NewMockMailer(c), mocks.NewMockAtomic(c)
	jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Do(func(_ context.Context, j job.Job) {
		n.jobs = append(n.jobs, j)
	}).AnyTimes()
	mailer.EXPECT().Send(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, m ports.Mail) error {
		n.mails = append(n.mails, m)
		return n.fail
	}).AnyTimes()
	mailer.EXPECT().Delivers().DoAndReturn(func() bool { return !n.silent }).AnyTimes()
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{Jobs: jobs, AccountStores: ports.AccountStores{SecurityNotices: notices}})
		}).AnyTimes()
	n.SecurityNotices = accounts.NewSecurityNotices(atomic, users, mailer,
		func(identity.OrgID) (*identity.Org, bool) { return n.org, n.org != nil })
	return n
}

func (n *noticing) mail(t *testing.T, at time.Time) error {
	t.Helper()
	return n.Mail(t.Context(), identity.System("org", "", "user.notice", at), "ann")
}

func TestSecurityNoticesAreMailed(t *testing.T) {
	t.Run("one notice has its subject, and what to do", func(t *testing.T) {
		for kind, subject := range map[account.SecurityNoticeKind]string{
			account.PasskeyNotice: "A passkey was added to your account", account.KeyNotice: "An API key was created",
			account.DeviceNotice: "A new sign-in", account.OperatorNotice: "You are an operator now",
		} {
			n := newNoticing(t, kind)
			require.NoError(t, n.mail(t, now))
			require.Equal(t, "mails", len(n.mails), 1)
			m := n.mails[0]
			assert.Equal(t, "the recipient", m.To, "ann@example.com")
			assert.Contains(t, "the subject", m.Subject, subject)
			for _, part := range []string{"14 March 2026, 15:09 UTC", "If you did not",
				"https://atrium.example.com/console/", "Acme"} {
				assert.Contains(t, "the text", m.Text, part)
			}
			assert.Equal(t, "pending notices", len(n.stored.Pending), 0)
		}
	})
	t.Run("names carry no link", func(t *testing.T) {
		n := newNoticing(t)
		n.stored.Add(account.SecurityNotice{User: "ann", Kind: account.KeyNotice, Subject: "key_1",
			Name: "call https://evil.example", At: now})
		require.NoError(t, n.mail(t, now))
		assert.Contains(t, "the text", n.mails[0].Text, `("call https evil example")`)
		assert.Equal(t, "links", strings.Count(n.mails[0].Text, "://"), 1)
	})
	t.Run("notices of the pause are in one mail after it", func(t *testing.T) {
		n := newNoticing(t, account.PasskeyNotice)
		require.NoError(t, n.mail(t, now))
		for _, kind := range []account.SecurityNoticeKind{account.KeyNotice, account.DeviceNotice} {
			n.stored.Add(account.SecurityNotice{User: "ann", Kind: kind, Subject: "later", At: now})
		}
		n.stored.HasMore = true
		require.NoError(t, n.mail(t, now.Add(time.Minute)))
		require.Equal(t, "mails", len(n.mails), 1)
		require.Equal(t, "jobs", len(n.jobs), 1)
		assert.Equal(t, "when the next mail is due", n.jobs[0].Due, now.Add(account.MailPause))
		assert.Equal(t, "the job's subject", n.jobs[0].Subject, "ann")
		require.NoError(t, n.mail(t, n.jobs[0].Due))
		require.Equal(t, "mails", len(n.mails), 2)
		assert.Equal(t, "the subject", n.mails[1].Subject, "Changes to your account")
		for _, part := range []string{"an API key was created", "a browser signed in", "and more"} {
			assert.Contains(t, "the text", n.mails[1].Text, part)
		}
		require.NoError(t, n.mail(t, n.jobs[0].Due.Add(time.Hour)))
		assert.Equal(t, "mails", len(n.mails), 2)
	})
	t.Run("a mail that fails is sent again", func(t *testing.T) {
		n := newNoticing(t, account.PasskeyNotice)
		n.fail = errors.New("the server is away")
		require.ErrorIs(t, n.mail(t, now), n.fail)
		n.fail = nil
		require.NoError(t, n.mail(t, now.Add(time.Second)))
		assert.Equal(t, "mails", len(n.mails), 2)
		assert.Equal(t, "times that count", len(n.stored.Sent), 1)
	})
	for name, change := range map[string]func(*noticing){
		"a person without a mail server":      func(n *noticing) { n.silent = true },
		"an org that wants none":              func(n *noticing) { n.org.NoSecurityMails = true },
		"an org that is gone":                 func(n *noticing) { n.org = nil },
		"a person without a verified address": func(n *noticing) { n.user.EmailVerified = false },
		"a person who joined unconfirmed": func(n *noticing) {
			n.user.EmailVerifiedBy = account.VerifiedByInvitation
		},
		"a disabled person": func(n *noticing) { n.user.DisabledAt = now },
		"a program":         func(n *noticing) { n.user.Service = true },
	} {
		t.Run(name+" gets no mail, now or later", func(t *testing.T) {
			n := newNoticing(t, account.PasskeyNotice, account.OperatorNotice)
			change(n)
			require.NoError(t, n.mail(t, now))
			assert.Equal(t, "mails", len(n.mails), 0)
			assert.Equal(t, "pending notices", len(n.stored.Pending), 0)
			assert.Equal(t, "jobs", len(n.jobs), 0)
		})
	}
	t.Run("an erased person gets no mail", func(t *testing.T) {
		n := newNoticing(t, account.PasskeyNotice)
		n.user = nil
		require.NoError(t, n.mail(t, now))
		assert.Equal(t, "mails", len(n.mails), 0)
	})
}
