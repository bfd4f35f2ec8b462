package webhooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnEndpointThatIsDisabledQueuesANotice(t *testing.T) {
	s, e := newMocked(t), endpoint()
	s.works(t, e, 410)
	if e.Enabled || e.Reason != webhook.Gone || len(s.jobs) != 1 || s.jobs[0].Kind != webhook.NoticeJob ||
		s.jobs[0].Subject != string(e.ID) || s.jobs[0].Workspace != e.Workspace {
		t.Errorf("%+v, jobs %+v", e, s.jobs)
	}
	s, e = newMocked(t), endpoint()
	if s.works(t, e, 500); len(s.jobs) != 0 {
		t.Errorf("one failure queues %+v", s.jobs)
	}
}

func TestTheAdminWhoMadeAnEndpointIsMailedWhatIsTrueOfItThen(t *testing.T) {
	system := identity.System("org_a", "wsp_a", "test", now)
	mail := account.Member{Role: identity.Admin, Email: "ann@example.com"}
	for name, tt := range map[string]struct {
		change func(*webhook.Endpoint)
		member account.Member
		err    error
		says   string // empty: no mail
	}{
		"gone":     {func(e *webhook.Endpoint) { e.Enabled, e.Reason = false, webhook.Gone }, mail, nil, "410"},
		"disabled": {func(e *webhook.Endpoint) { e.Enabled, e.Reason = false, webhook.Expired }, mail, nil, "five days"},
		"failing":  {func(e *webhook.Endpoint) { e.Failures, e.FailureNotified = 9, true }, mail, nil, "an hour"},
		"recovered, and failing again for a moment": {func(e *webhook.Endpoint) { e.Failures = 1 }, mail, nil, ""},
		"disabled by a user":                        {func(e *webhook.Endpoint) { e.Enabled = false }, mail, nil, ""},
		"no admin any more": {func(e *webhook.Endpoint) { e.Failures, e.FailureNotified = 9, true },
			account.Member{Role: identity.Member, Email: "ann@example.com"}, nil, ""},
		"not in the workspace any more": {func(e *webhook.Endpoint) { e.Failures, e.FailureNotified = 9, true },
			account.Member{}, account.ErrMemberNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newMocked(t), endpoint()
			tt.change(e)
			s.store.EXPECT().Get(gomock.Any(), e.Workspace, e.ID).Return(e, nil)
			s.people.EXPECT().Member(gomock.Any(), e.Org, e.Workspace, e.Owner).Return(tt.member, tt.err).AnyTimes()
			s.people.EXPECT().Find(gomock.Any(), e.Org, string(e.Workspace)).
				Return(&account.Workspace{Slug: "shop"}, nil).AnyTimes()
			var mails []ports.Mail
			s.mailer.EXPECT().Send(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, m ports.Mail) error {
				mails = append(mails, m)
				return nil
			}).AnyTimes()
			require.NoError(t, s.service.MailNotice(t.Context(), system, e.ID))
			if tt.says == "" && len(mails) > 0 {
				t.Errorf("mailed %+v", mails)
			}
			if tt.says != "" && (len(mails) != 1 || mails[0].To != "ann@example.com" ||
				!strings.Contains(mails[0].Text, tt.says) || strings.Contains(mails[0].Text, "/hook")) {
				t.Errorf("mailed %+v", mails)
			}
		})
	}
}

func TestANoticeThatTheMailServerRefusesIsAnErrorSoThatItsJobTriesAgain(t *testing.T) {
	s, e := newMocked(t), endpoint()
	e.Enabled, e.Reason = false, webhook.Gone
	refusal := errors.New("refused")
	s.store.EXPECT().Get(gomock.Any(), e.Workspace, e.ID).Return(e, nil)
	s.people.EXPECT().Member(gomock.Any(), e.Org, e.Workspace, e.Owner).
		Return(account.Member{Role: identity.Admin, Email: "ann@example.com"}, nil)
	s.people.EXPECT().Find(gomock.Any(), e.Org, string(e.Workspace)).Return(&account.Workspace{Slug: "shop"}, nil)
	s.mailer.EXPECT().Send(gomock.Any(), gomock.Any()).Return(refusal)
	system := identity.System("org_a", "wsp_a", "test", now)
	if err := s.service.MailNotice(t.Context(), system, e.ID); !errors.Is(err, refusal) {
		t.Error(err)
	}
	s.store.EXPECT().Get(gomock.Any(), e.Workspace, e.ID).Return(nil, webhook.ErrNotFound)
	if err := s.service.MailNotice(t.Context(), system, e.ID); err != nil {
		t.Errorf("of a deleted one: %v", err)
	}
}
