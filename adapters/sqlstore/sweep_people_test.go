package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestSweepRemovesEndedCredentials has credentials of each kind that end at different times, and checks on both sides
// of the moment at which each is removed.
func TestSweepRemovesEndedCredentials(t *testing.T) {
	const day, moment = 24 * time.Hour, time.Microsecond
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db, rows := open(t, url, databases.Keyring(t)), databases.Raw(t, url)
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, ids["one"])
		key := func(by identity.Actor, name string, life time.Duration) identity.KeyID {
			t.Helper()
			d := account.KeyDraft{Name: name}
			if life > 0 {
				d.ExpiresAt = by.At.Add(life)
			}
			k, _ := fixture.Key(t, s, by, d)
			return k.ID
		}
		system := identity.System(team.Org, "", "test", fixture.At)
		openSession := func(by identity.KeyID) {
			t.Helper()
			var opener *account.Key
			if by != "" {
				opener = &account.Key{ID: by, Workspace: team.Workspace.ID, ExpiresAt: fixture.At.Add(day)}
			}
			require.NoError(t, s.Sessions.Update(ctx, system, team.Member.User,
				func(p *account.Person, live []*session.Session) (*session.Session, error) {
					openedSession, _, err := session.Open(system, p, session.ByLink, opener, "", live)
					return openedSession, err
				}))
		}

		key(team.Member, "without an end", 0)
		expires := key(team.Member, "expires", day)
		revokedKey := key(team.Member, "revoked", 0)
		if _, err := s.Keys.Update(ctx, fixture.Later(team.Member, 2*day), revokedKey,
			func(w *account.Workspace, k *account.Key, newKeys []*account.Key) error {
				return w.RevokeKey(fixture.Later(team.Member, 2*day), nil, k, newKeys)
			}); err != nil {
			t.Fatal(err)
		}
		maker := key(team.Member, "made another", day)
		byKey := team.Member
		byKey.Key = maker
		key(byKey, "made by a key", 3*day)
		openSession("")
		openSession(expires)
		token := secret.NewToken("test_")
		require.NoError(t, s.Sessions.AddLink(ctx, &session.Link{
			Org: team.Org, User: team.Member.User, Hash: token.Hash(), CreatedAt: fixture.At,
			ExpiresAt: fixture.At.Add(session.LinkLife),
		}))
		for email, by := range map[string]identity.Actor{
			"first@example.com": team.Owner, "second@example.com": fixture.Later(team.Owner, day),
		} {
			require.NoError(t, s.Invitations.Invite(ctx, by, by.Workspace, email, func(
				w *account.Workspace, member identity.UserID, pending *account.Invitation,
			) (*account.Invitation, error) {
				i, _, err := w.Invite(by, email, identity.Viewer, member, pending)
				return i, err
			}))
		}

		names := func(query string) (found []string) {
			t.Helper()
			all, err := rows.QueryContext(ctx, query)
			require.NoError(t, err)
			defer all.Close()
			for all.Next() {
				var name string
				require.NoError(t, all.Scan(&name))
				found = append(found, name)
			}
			require.NoError(t, all.Err())
			return found
		}
		const (
			keys        = `SELECT name FROM api_keys ORDER BY name`
			sessions    = `SELECT CASE WHEN key_id = '' THEN 'of a link' ELSE 'of a key' END FROM sessions ORDER BY 1`
			links       = `SELECT 'a link' FROM sign_in_links`
			invitations = `SELECT email FROM invitations ORDER BY email`
		)
		for _, step := range []struct {
			name  string
			query string
			at    time.Duration // at which the rows are removed
			gone  []string
		}{
			{"a link goes with its end", links, session.LinkLife, []string{"a link"}},
			{"a session goes with the key that opened it", sessions, day, []string{"of a key"}},
			{"a session goes after its longest life", sessions, session.Life, []string{"of a link"}},
			{"an invitation goes 30 days after its end", invitations, account.InvitationLasts + 30*day,
				[]string{"first@example.com"}},
			{"so does the next", invitations, account.InvitationLasts + 31*day, []string{"second@example.com"}},
			{"a key goes 90 days after its end, unless a key that it made is there", keys, 91 * day,
				[]string{"expires"}},
			{"a key goes 90 days after it was revoked", keys, 92 * day, []string{"revoked"}},
			{"a key that another made goes, and then its maker", keys, 93 * day,
				[]string{"made another", "made by a key"}},
			{"a key without an end stays", keys, 10000 * day, nil},
		} {
			t.Run(step.name, func(t *testing.T) {
				previous := names(step.query)
				sweep := func(offset time.Duration) []string {
					t.Helper()
					require.NoError(t, db.Sweep(ctx, fixture.At.Add(offset), 100000*day))
					return names(step.query)
				}
				if got := sweep(step.at); !slices.Equal(got, previous) {
					t.Errorf("at its last moment %v are left of %v", got, previous)
				}
				want := slices.DeleteFunc(previous, func(name string) bool { return slices.Contains(step.gone, name) })
				assert.EqualSlice(t, "are left", sweep(step.at+moment), want)
			})
		}
	})
}
