package accounts_test

import (
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// overviews is a Service with the stores that an overview reads.
type overviews struct {
	*accounts.Service
	people     *mocks.MockPeople
	workspaces *mocks.MockWorkspaces
	sessions   *mocks.MockSessions
	passkeys   *mocks.MockPasskeys
}

func newOverviews(t *testing.T) *overviews {
	c := gomock.NewController(t)
	s := &overviews{people: mocks.NewMockPeople(c), workspaces: mocks.NewMockWorkspaces(c),
		sessions: mocks.NewMockSessions(c), passkeys: mocks.NewMockPasskeys(c)}
	s.Service = accounts.NewService(nil, ports.AccountStores{People: s.people, Workspaces: s.workspaces},
		accounts.Deps{Sessions: s.sessions, Passkeys: s.passkeys})
	return s
}

func TestEveryPowerOfAPersonIsOneOverview(t *testing.T) {
	operator := identity.Actor{Org: "org", User: "op", Operator: true, Ceiling: identity.Owner, At: now}
	person := identity.Actor{Org: "org", User: "ann", Ceiling: identity.Owner, At: now}
	anyone := identity.SessionPolicy{}
	live := session.Session{ID: "ses_1", LastSeenAt: now, ExpiresAt: now.Add(time.Hour)}
	idle := session.Session{ID: "ses_0", LastSeenAt: now.Add(-time.Hour), ExpiresAt: now.Add(time.Hour)}
	expect := func(s *overviews, user account.User, next string) {
		s.people.EXPECT().Overview(gomock.Any(), identity.OrgID("org"), user.ID, identity.WorkspaceID(""), now, 1000).
			Return(&account.AccessOverview{User: user}, nil)
		s.sessions.EXPECT().List(gomock.Any(), identity.OrgID("org"), user.ID, identity.KeyID(""), now, gomock.Any()).
			AnyTimes().Return(session.Page{Items: []session.Session{live, idle}, Next: next}, nil)
		s.passkeys.EXPECT().List(gomock.Any(), identity.OrgID("org"), user.ID, gomock.Any()).AnyTimes().Return(
			account.PasskeyPage{Items: []account.Passkey{{ID: "psk_1"}}}, nil)
	}
	t.Run("an operator sees that of each person, and whether it is complete", func(t *testing.T) {
		for next, isTruncated := range map[string]bool{"": false, "ses_0": true} {
			s := newOverviews(t)
			expect(s, account.User{ID: "ann"}, next)
			got, err := s.AccessOf(t.Context(), operator, anyone, "ann")
			require.NoError(t, err)
			if got.Sessions[0].ID != "ses_1" || got.Passkeys[0].ID != "psk_1" || got.Truncated != isTruncated {
				t.Errorf("%+v", got)
			}
		}
	})
	t.Run("a program is no person", func(t *testing.T) {
		s := newOverviews(t)
		expect(s, account.User{ID: "bot", Service: true}, "")
		_, err := s.AccessOf(t.Context(), operator, anyone, "bot")
		require.ErrorIs(t, err, account.ErrUserNotFound)
	})
	t.Run("a person sees their own, without a key, and no one else's", func(t *testing.T) {
		s := newOverviews(t)
		expect(s, account.User{ID: "ann"}, "")
		got, err := s.OwnAccess(t.Context(), person, anyone)
		require.NoError(t, err)
		assert.Equal(t, "user", got.User.ID, "ann")
		assert.Equal(t, "sessions", len(got.Sessions), 2)
		expect(s, account.User{ID: "ann"}, "")
		got, err = s.OwnAccess(t.Context(), person, identity.SessionPolicy{Idle: time.Hour})
		require.NoError(t, err)
		assert.Equal(t, "sessions that a policy has not ended", len(got.Sessions), 1)
		withKey := person
		withKey.Key = "key_1"
		_, err = s.OwnAccess(t.Context(), withKey, anyone)
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.AccessOf(t.Context(), person, anyone, "ann")
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
}

func TestOwnersSeeEveryPowerOfAMemberInTheirWorkspace(t *testing.T) {
	by := identity.Actor{Org: "org", User: "own", Workspace: "w", Role: identity.Owner, Ceiling: identity.Owner,
		At: now}
	opens := func(s *overviews, role identity.Role) {
		s.workspaces.EXPECT().Get(gomock.Any(), gomock.Any(), identity.WorkspaceID("w")).Return(&account.Workspace{
			ID: "w", Org: "org", Members: map[identity.UserID]account.Member{"own": {User: "own", Role: role}}}, nil)
	}
	overview := func(s *overviews, got *account.AccessOverview, err error) {
		s.people.EXPECT().Overview(gomock.Any(), identity.OrgID("org"), identity.UserID("ann"),
			identity.WorkspaceID("w"), now, 1000).Return(got, err)
	}
	t.Run("an owner does", func(t *testing.T) {
		s := newOverviews(t)
		opens(s, identity.Owner)
		overview(s, &account.AccessOverview{Workspaces: []account.WorkspaceAccess{{}}}, nil)
		got, err := s.AccessOfMember(t.Context(), by, "w", "ann")
		require.NoError(t, err)
		assert.Equal(t, "workspaces", len(got.Workspaces), 1)
	})
	t.Run("an admin does not", func(t *testing.T) {
		s := newOverviews(t)
		opens(s, identity.Admin)
		_, err := s.AccessOfMember(t.Context(), by, "w", "ann")
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
	t.Run("who is not a member has none, whether the person exists or not", func(t *testing.T) {
		for _, result := range []error{nil, account.ErrUserNotFound} {
			s := newOverviews(t)
			opens(s, identity.Owner)
			overview(s, &account.AccessOverview{}, result)
			_, err := s.AccessOfMember(t.Context(), by, "w", "ann")
			require.ErrorIs(t, err, account.ErrMemberNotFound)
		}
	})
}
