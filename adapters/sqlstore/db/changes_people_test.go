package db_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const changesIssuer = "https://issuer.example"

// credentials are those of one person, each of which the stores cache for a second.
type credentials struct {
	org    identity.OrgID
	token  account.Hash
	cookie account.Hash
	claims account.Claims
}

// read returns what each credential proves. A transaction does not use the caches.
func (c credentials) read(t *testing.T, s ports.Stores) (proven [3]any) {
	t.Helper()
	byKey, err1 := s.Keys.Principal(t.Context(), c.org, c.token)
	bySession, err2 := s.Sessions.Person(t.Context(), c.org, c.cookie)
	byToken, err3 := s.Users.SignedIn(t.Context(), c.org, c.claims.Issuer, c.claims.Subject)
	require.NoError(t, errors.Join(err1, err2, err3))
	settledPerson := *byToken
	settledPerson.LastSettled = nil // only caches have it
	return [3]any{*byKey, *bySession, settledPerson}
}

func (c credentials) signIn(t *testing.T, s ports.Stores) {
	t.Helper()
	by := identity.System(c.org, "", "sign-in", fixture.At.Add(time.Hour))
	org := &identity.Org{Issuers: []identity.Issuer{{URL: changesIssuer, TrustEmail: true}},
		SignUp: identity.SignUpOpen, GroupClaim: identity.GroupClaim{Issuer: changesIssuer, Claim: "groups"}}
	if _, err := s.Users.SignIn(t.Context(), c.org, account.SignIn{Claims: c.claims, Org: org},
		func(in *account.SignIn) error { return in.Settle(by) }); err != nil {
		t.Fatal(err)
	}
}

// newCredentials stores an API key, a session and a sign-in of a team's member.
func newCredentials(t *testing.T, s ports.Stores, team *fixture.Team) (credentials, *account.Key, *session.Session) {
	t.Helper()
	by := team.Member
	key, token := fixture.Key(t, s, by, account.KeyDraft{Name: "Key"})
	var row *session.Session
	require.NoError(t, s.Sessions.Update(t.Context(), by, by.User,
		func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
			row, _, err = session.Open(identity.System(team.Org, "", "sign-in", fixture.At), p, session.ByLink, nil,
				"Firefox", live)
			return row, err
		}))
	email := "member@" + team.Workspace.Slug + ".example"
	c := credentials{org: team.Org, token: token.Hash(), cookie: row.Cookie, claims: account.Claims{
		Issuer: changesIssuer, Subject: "member", Email: email, EmailVerified: true, Name: "member"}}
	c.signIn(t, s)
	return c, key, row
}

// owned is a member of a team, with credentials.
type owned struct {
	ports.Stores
	team *fixture.Team
	credentials
	key     *account.Key
	session *session.Session
}

func newGroup(t *testing.T, s ports.Stores, by identity.Actor, external string) (group identity.UserID) {
	t.Helper()
	if err := s.Groups.Add(t.Context(), by, func(w *account.Workspace, count int) (*account.Group, error) {
		g, err := w.NewGroup(by, count, account.GroupDraft{Name: id.New("g"), External: external})
		if err == nil {
			group = g.ID
		}
		return g, err
	}); err != nil {
		t.Fatal(err)
	}
	return group
}

func TestCachedCredentialsFollowEveryChangeOfTheirPerson(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, o owned) // what the change needs
		change func(t *testing.T, o owned) error
	}{
		{"the person is renamed", nil, func(t *testing.T, o owned) error {
			return renamePerson(t, o.Stores, o.team.Member)
		}},
		{"the key is revoked", nil, func(t *testing.T, o owned) error {
			_, err := o.Keys.Update(t.Context(), o.team.Member, o.key.ID,
				func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
					return w.RevokeKey(o.team.Member, nil, k, keys)
				})
			return err
		}},
		{"the session ends", nil, func(t *testing.T, o owned) error {
			return o.Sessions.Update(t.Context(), o.team.Member, o.team.Member.User,
				func(p *account.Person, live []*session.Session) (*session.Session, error) {
					return nil, session.End(o.team.Member, p, live, o.session.ID)
				})
		}},
		{"the workspace is renamed", nil, func(t *testing.T, o owned) error {
			_, err := o.Workspaces.Update(t.Context(), o.team.Owner, o.team.Workspace.ID, nil,
				func(w *account.Workspace) error {
					return w.Change(o.team.Owner, nil, nil, account.WorkspaceChanges{Name: new("Other")})
				})
			return err
		}},
		{"the person creates a workspace", nil, func(t *testing.T, o owned) error {
			w, err := account.NewWorkspace(o.team.Member, nil, o.team.Workspace.Slug+"-own", "Own")
			if err != nil {
				return err
			}
			return o.Workspaces.Add(t.Context(), w)
		}},
		{"an admin adds the person to a group", func(t *testing.T, o owned) {
			newGroup(t, o.Stores, o.team.Admin, "")
		}, func(t *testing.T, o owned) error {
			_, err := o.Groups.Update(t.Context(), o.team.Admin, groupOf(t, o.Stores, o.team),
				[]identity.UserID{o.team.Member.User}, func(w *account.Workspace, g *account.Group) error {
					return w.AddToGroup(o.team.Admin, g, o.team.Member.User)
				})
			return err
		}},
		{"a sign-in adds the person to a group that changes no role", func(t *testing.T, o owned) {
			newGroup(t, o.Stores, o.team.Admin, "authors")
		}, func(t *testing.T, o owned) error {
			o.claims.Raw = map[string]any{"groups": []any{"authors"}}
			o.signIn(t, o.Stores)
			return nil
		}},
		{"the person gets a share of a folder", nil, func(t *testing.T, o owned) error {
			return o.PromptFolders.Update(t.Context(), o.team.Admin, "Letters", o.team.Member.User,
				func(f *prompt.SharedFolder, recipient prompt.Recipient, previous *prompt.FolderShare) error {
					_, err := f.Share(o.team.Admin, recipient, previous,
						prompt.Grant{User: o.team.Member.User, Role: access.Editor})
					return err
				})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			databases.OnEach(t, func(t *testing.T, url string) {
				db, _ := databases.Watched(t, url)
				orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
				require.NoError(t, err)
				s := db.Stores()
				team := fixture.NewTeam(t, s, orgs["one"])
				c, key, session := newCredentials(t, s, team)
				o := owned{s, team, c, key, session}
				if tt.before != nil {
					tt.before(t, o)
				}
				previous := c.read(t, s)
				require.NoError(t, tt.change(t, o))
				next := c.read(t, s)
				var values [3]any
				require.NoError(t, s.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
					values = c.read(t, tx)
					return nil
				}))
				if reflect.DeepEqual(previous, values) {
					t.Error("the change changed nothing that a credential proves")
				}
				if !reflect.DeepEqual(next, values) {
					t.Errorf("after the change, the credentials prove\n%+v\nbut what is stored is\n%+v", next, values)
				}
			})
		})
	}
}

func renamePerson(t *testing.T, s ports.Stores, by identity.Actor) error {
	_, err := s.Users.Update(t.Context(), by.Org, by.User, func(u *account.User, in []account.Membership) error {
		return u.Change(by, nil, in, account.UserChanges{Name: new(id.New("name"))})
	})
	return err
}

// groupOf returns the only group of a team.
func groupOf(t *testing.T, s ports.Stores, team *fixture.Team) identity.UserID {
	t.Helper()
	found := fixture.Pages(t, 2, func(q page.Query) (account.GroupPage, error) {
		return s.Groups.List(t.Context(), team.Workspace.ID, q)
	})
	require.Equal(t, "groups", len(found), 1)
	return found[0].ID
}

// TestAChangeOfAPersonStartsAGenerationOfEachOfTheirWorkspaces has a person with more workspaces than record the
// change.
func TestAChangeOfAPersonStartsAGenerationOfEachOfTheirWorkspaces(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		system := identity.System(orgs["one"], "", "fixture", fixture.At)
		u, err := account.NewUser(system, "ann@example.com", "Ann", false)
		require.NoError(t, err)
		require.NoError(t, s.Users.Add(t.Context(), u))
		var in []identity.WorkspaceID
		for range 24 {
			in = append(in, fixture.Workspace(t, s, u.Org, id.New("w")[2:],
				map[identity.UserID]identity.Role{u.ID: identity.Member}).ID)
		}
		by := identity.Actor{Org: u.Org, User: u.ID, Role: identity.Member, Ceiling: identity.Owner, At: fixture.At}
		previous := make([]uint64, len(in))
		for i, ws := range in {
			previous[i], _ = db.Generation(ws)
		}
		require.NoError(t, renamePerson(t, s, by))
		for i, ws := range in {
			if current, isSettled := db.Generation(ws); current <= previous[i] || !isSettled {
				t.Errorf("workspace %d: generation %d, then %d, settled: %v", i, previous[i], current, isSettled)
			}
		}
	})
}
