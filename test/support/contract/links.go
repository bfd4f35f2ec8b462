package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// link calls Link as the command line does, an hour after everything was created.
func link(t testing.TB, s ports.Stores, org identity.OrgID, email, issuer, subject string) error {
	by := identity.System(org, "", "cli", fixture.At.Add(time.Hour))
	return s.Users.Link(t.Context(), by, email, issuer, subject,
		func(to, from *account.Person) error { return to.TakeSignIn(by, issuer, from) })
}

func signInLinked(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	c := claimsOf(team, "member")
	check := func(subject string) identity.UserID {
		t.Helper()
		p, err := a.Users.SignedIn(ctx, team.Org, issuer, subject)
		if errors.Is(err, account.ErrUserNotFound) {
			return ""
		}
		must(t, err)
		return p.User.ID
	}
	events := func(person identity.Actor) []string {
		t.Helper()
		return kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(person.User)))
	}
	t.Run("a subject that never signed in belongs to the user after Link", func(t *testing.T) {
		check("linked-" + c.Subject) // caches that there is no such user
		must(t, link(t, a.Stores, team.Org, "MEMBER@"+team.Workspace.Slug+".example", issuer, "linked-"+c.Subject))
		same(t, "user", check("linked-"+c.Subject), team.Member.User)
		same(t, "events", events(team.Member), []string{"user.linked"})
		c := c
		c.Subject = "linked-" + c.Subject
		if p := signIn(t, a.Stores, team.Org, c, nil); p.User.ID != team.Member.User ||
			p.Memberships[0].Role != identity.Member {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("Link moves a subject from another user at once", func(t *testing.T) {
		c := claimsOf(team, "peer")
		signIn(t, a.Stores, team.Org, c, nil)
		same(t, "user", check(c.Subject), team.Peer.User)
		wantErr(t, a.Users.Link(ctx, identity.System(team.Org, "", "cli", fixture.At), claimsOf(team, "viewer").Email,
			issuer, c.Subject, func(to, from *account.Person) error {
				for p, person := range map[*account.Person]identity.Actor{to: team.Viewer, from: team.Peer} {
					u, m, err := a.Users.Get(ctx, team.Org, person.User)
					must(t, err)
					same(t, "person", p, &account.Person{User: *u, Memberships: m})
				}
				return errors.Join(to.TakeSignIn(identity.System(team.Org, "", "cli", fixture.At), issuer, from),
					errBoom)
			}), errBoom)
		same(t, "user", check(c.Subject), team.Peer.User) // nothing was saved
		must(t, link(t, a.Stores, team.Org, claimsOf(team, "viewer").Email, issuer, c.Subject))
		same(t, "user", check(c.Subject), team.Viewer.User)
		same(t, "events", events(team.Viewer), []string{"user.linked"})
		same(t, "events", events(team.Peer), []string{"user.unlinked", "user.linked"})
	})
	t.Run("a repeated Link records no event", func(t *testing.T) {
		previous := events(team.Member)
		must(t, link(t, a.Stores, team.Org, c.Email, issuer, "linked-"+c.Subject))
		same(t, "events", events(team.Member), previous)
	})
	t.Run("another issuer's subject, or another org's, is somebody else", func(t *testing.T) {
		other := fixture.NewTeam(t, a.Stores, a.Orgs[1])
		must(t, link(t, a.Stores, other.Org, claimsOf(other, "owner").Email, issuer, "linked-"+c.Subject))
		must(t, link(t, a.Stores, team.Org, claimsOf(team, "owner").Email, "https://another.example",
			"linked-"+c.Subject))
		same(t, "user", check("linked-"+c.Subject), team.Member.User)
		wantErr(t, link(t, a.Stores, team.Org, claimsOf(other, "owner").Email, issuer, "lost"), account.ErrUserNotFound)
		same(t, "user", check("lost"), identity.UserID(""))
	})
	t.Run("Link to an empty address finds no user", func(t *testing.T) {
		wantErr(t, link(t, a.Stores, team.Org, "", issuer, "lost"), account.ErrUserNotFound)
	})
}
