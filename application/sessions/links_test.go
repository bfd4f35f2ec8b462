package sessions_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMailLink(t *testing.T) {
	org := &identity.Org{ID: "org", Name: "Acme. http://evil.example", BaseURL: "https://atrium.example"}
	for name, tt := range map[string]struct {
		person func(*account.User)
		mailed []session.LinkMail
		sent   bool
		want   error
	}{
		"to a verified address":           {func(*account.User) {}, nil, true, nil},
		"not to one that is not verified": {func(u *account.User) { u.EmailVerified = false }, nil, false, nil},
		"not to a machine":                {func(u *account.User) { u.Email = "root@localhost" }, nil, false, nil},
		"not twice in a minute for one address": {func(*account.User) {},
			[]session.LinkMail{{At: now.Add(-59 * time.Second), From: "192.0.2.1"}}, false, nil},
		"again after a minute": {func(*account.User) {},
			[]session.LinkMail{{At: now.Add(-time.Minute), From: "192.0.2.1"}}, true, nil},
		"at once although somebody else asked for it": {func(*account.User) {},
			[]session.LinkMail{{At: now, From: "198.51.100.7"}}, true, nil},
		"not to a person who is disabled": {func(u *account.User) { u.DisabledAt = now }, nil, false,
			account.ErrUserNotFound},
		"not to the bearer of service keys": {func(u *account.User) { u.Service = true }, nil, false,
			account.ErrUserNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s, by := newSigningIn(t), system
			by.Request.Address = "192.0.2.1"
			u := account.User{ID: "ann", Org: "org", Email: "ann@example.com", EmailVerified: true}
			tt.person(&u)
			var link *session.Link
			s.sessions.EXPECT().MailLink(gomock.Any(), by, "Ann@example.com", gomock.Any()).DoAndReturn(
				func(
					_ context.Context, _ identity.Actor, _ string,
					change func(*account.User, session.LinkMails) (*session.Link, error),
				) (err error) {
					link, err = change(&u, session.LinkMails{Sent: tt.mailed, Usable: true})
					return err
				})
			if tt.sent {
				s.mailer.EXPECT().Send(gomock.Any(), gomock.Any()).Do(func(_ context.Context, m ports.Mail) {
					if m.To != "ann@example.com" ||
						!strings.Contains(m.Text, "https://atrium.example/console/sign-in#token=atl_") ||
						strings.Contains(m.Text, "evil.example") {
						t.Errorf("%+v", m)
					}
				})
			}
			require.ErrorIs(t, s.MailLink(t.Context(), by, org, "Ann@example.com"), tt.want)
			if (link != nil) != tt.sent || (link != nil && !link.Mailed) {
				t.Errorf("%+v was stored", link)
			}
		})
	}
	t.Run("nothing is mailed to nobody", func(t *testing.T) {
		s := newSigningIn(t)
		s.sessions.EXPECT().MailLink(gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Return(account.ErrUserNotFound)
		require.ErrorIs(t, s.MailLink(t.Context(), system, org, "nobody@example.com"), account.ErrUserNotFound)
	})
}

func TestALinkNamesItsAccount(t *testing.T) {
	token, link, err := session.NewLink(system, &account.User{ID: "ann", Org: "org"})
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		token string
		user  *account.User
		found error // of the store
		want  error
	}{
		"of a person":               {token.Reveal(), &account.User{ID: "ann"}, nil, nil},
		"of a disabled person":      {token.Reveal(), &account.User{ID: "ann", DisabledAt: now}, nil, session.ErrLinkInvalid},
		"that was used":             {token.Reveal(), nil, session.ErrLinkInvalid, session.ErrLinkInvalid},
		"of a person who is erased": {token.Reveal(), nil, nil, session.ErrLinkInvalid},
		"that is none":              {"atk_1", nil, nil, session.ErrLinkInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			s.sessions.EXPECT().LinkUser(gomock.Any(), identity.OrgID("org"), link.Hash, now).AnyTimes().Return(
				identity.UserID("ann"), tt.found)
			var missing error
			if tt.user == nil {
				missing = account.ErrUserNotFound
			}
			s.users.EXPECT().Get(gomock.Any(), identity.OrgID("org"), identity.UserID("ann")).AnyTimes().Return(
				tt.user, nil, missing)
			u, err := s.LinkUser(t.Context(), "org", tt.token, now)
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && u.ID != "ann" {
				t.Errorf("%+v", u)
			}
		})
	}
}
