package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestSweepRecordsSessionsThatEndedByTime has a session that was not used for 12 hours, one that reached its end, one
// that is in use, and one that was ended before.
func TestSweepRecordsSessionsThatEndedByTime(t *testing.T) {
	const day = 24 * time.Hour
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, ids["one"])
		system := identity.System(team.Org, "", "sign-in", fixture.At)
		begin := func(by identity.Actor) (openedSession *session.Session) {
			t.Helper()
			require.NoError(t, s.Sessions.Update(ctx, system, by.User,
				func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
					openedSession, _, err = session.OpenFromProvider(system, p,
						session.ProviderSession{Issuer: "https://id.test", Subject: "s"}, "", live)
					return openedSession, err
				}))
			return openedSession
		}
		idle, excess, usedSession, end := begin(team.Member), begin(team.Peer), begin(team.Admin), begin(team.Member)
		uses := map[identity.SessionID]time.Time{}
		use := func(offset time.Duration, sessions ...*session.Session) {
			t.Helper()
			for _, one := range sessions {
				uses[one.ID] = fixture.At.Add(offset)
			}
			require.NoError(t, s.Sessions.Used(ctx, team.Org, uses))
		}
		by := fixture.Later(team.Member, time.Minute)
		require.NoError(t, s.Sessions.Update(ctx, by, by.User,
			func(p *account.Person, live []*session.Session) (*session.Session, error) {
				return nil, session.End(by, p, live, end.ID)
			}))
		reasons := func(owner *session.Session) (all []any) {
			t.Helper()
			found, err := s.Events.List(ctx, team.Workspace.ID,
				event.Filter{Subject: string(owner.ID), Type: "session.ended"}, page.Query{Limit: 10})
			require.NoError(t, err)
			for _, e := range fixture.Decoded(t, found.Items) {
				all = append(all, e.Data["reason"])
			}
			return all
		}
		expect := func(offset time.Duration, want map[*session.Session]string) {
			t.Helper()
			for range 2 { // the second time there is nothing left to do
				require.NoError(t, db.Sweep(ctx, fixture.At.Add(offset), 400*day))
			}
			for one, reason := range want {
				got := reasons(one)
				if (reason == "" && len(got) > 0) || (reason != "" && (len(got) != 1 || got[0] != reason)) {
					t.Errorf("after %v the events of %s are %v, want %q", offset, one.ID, got, reason)
				}
			}
		}
		use(11*time.Hour, excess, usedSession)
		expect(12*time.Hour, map[*session.Session]string{idle: "", excess: "", usedSession: "", end: "ended"})
		expect(13*time.Hour, map[*session.Session]string{idle: "expired", excess: "", usedSession: "", end: "ended"})
		use(22*time.Hour, excess, usedSession)
		expect(day-time.Minute, map[*session.Session]string{excess: "", usedSession: ""})
		expect(day, map[*session.Session]string{excess: "expired", usedSession: "expired"})
	})
}
