package sessions_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSessionsOfAPerson(t *testing.T) {
	operator := identity.Actor{Org: "org", User: "op", Operator: true, Ceiling: identity.Owner, At: now}
	t.Run("an operator lists and ends them", func(t *testing.T) {
		s := newSigningIn(t)
		s.live = []*session.Session{{ID: "ses_1", Org: "org", User: "ann"}, {ID: "ses_2", Org: "org", User: "ann"}}
		s.users.EXPECT().Get(gomock.Any(), identity.OrgID("org"), identity.UserID("ann")).Return(&s.person.User, nil,
			nil)
		want := session.Page{Items: []session.Session{seen("ses_1", 0)}}
		q := page.Query{Limit: 10}
		s.sessions.EXPECT().List(gomock.Any(), identity.OrgID("org"), identity.UserID("ann"),
			identity.KeyID(""), now, q).
			Return(want, nil)
		got, err := s.ListOf(t.Context(), operator, anyone, "ann", q)
		require.NoError(t, err)
		if len(got.Items) != 1 {
			t.Errorf("%+v", got)
		}
		s.expectUpdate(nil)
		ends, err := s.EndOf(t.Context(), operator, "ann", "ses_2")
		require.NoError(t, err)
		if ends != 1 || s.live[1].EndedAt.IsZero() || !s.live[0].EndedAt.IsZero() {
			t.Errorf("%d ended: %+v", ends, s.live)
		}
	})
	t.Run("others do not", func(t *testing.T) {
		s, by := newSigningIn(t), operator
		by.Operator = false
		_, err := s.ListOf(t.Context(), by, anyone, "ann", page.Query{Limit: 10})
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.EndOf(t.Context(), by, "ann", "")
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
	t.Run("no person", func(t *testing.T) {
		s := newSigningIn(t)
		s.users.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, nil, account.ErrUserNotFound)
		_, err := s.ListOf(t.Context(), operator, anyone, "eve", page.Query{Limit: 10})
		require.ErrorIs(t, err, account.ErrUserNotFound)
	})
}
