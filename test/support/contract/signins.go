package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

const issuer, otherIssuer = "https://issuer.example", "https://another.example"

// SignIns is the suite for ports.Users.SignedIn and SignIn, and for ports.LinkedSignIns.
func SignIns(t *testing.T, open Opener) {
	a := open(t)
	t.Run("SignedIn", func(t *testing.T) { signedIn(t, a) })
	t.Run("SignIn", func(t *testing.T) { signsIn(t, a) })
	t.Run("Link", func(t *testing.T) { signInLinked(t, a) })
	t.Run("SignIn by older tokens", func(t *testing.T) { signsInByOlderTokens(t, a) })
	t.Run("SignIn under rules", func(t *testing.T) { signsInUnderRules(t, a) })
	t.Run("SignIn at two issuers", func(t *testing.T) { signsInAtTwoIssuers(t, a) })
	t.Run("SignIn by invitation", func(t *testing.T) { signsUpByInvitation(t, a) })
	t.Run("SignInLinked", func(t *testing.T) { signsInTogether(t, a) })
	t.Run("sign-ins at once", func(t *testing.T) { signInsRace(t, a) })
}

// claimsOf returns an issuer's claims about a member of a team, with a unique subject.
func claimsOf(team *fixture.Team, name string) account.Claims {
	email := name + "@" + team.Workspace.Slug + ".example"
	return account.Claims{Issuer: issuer, Subject: "sub-" + email, Email: email, EmailVerified: true, Name: name}
}

// anyoneOf is an org that everyone can join. It has that issuer and another one, which both can vouch for every
// address.
func anyoneOf(rules ...identity.ClaimRule) *identity.Org {
	return &identity.Org{
		Issuers:    []identity.Issuer{{URL: issuer, TrustEmail: true}, {URL: otherIssuer, TrustEmail: true}},
		ClaimRules: rules, SignUp: identity.SignUpOpen,
	}
}

// trySignIn calls SignIn as the use case does, an hour after everything was created.
func trySignIn(t testing.TB, s ports.Stores, org identity.OrgID, in account.SignIn) (*account.Person, error) {
	by := identity.System(org, "", "sign-in", fixture.At.Add(time.Hour))
	return s.Users.SignIn(t.Context(), org, in, func(in *account.SignIn) error { return in.Settle(by) })
}

func signIn(t testing.TB, s ports.Stores, org identity.OrgID, c account.Claims,
	rules []identity.ClaimRule) *account.Person {
	t.Helper()
	p, err := trySignIn(t, s, org, account.SignIn{Claims: c, Org: anyoneOf(rules...)})
	must(t, err)
	return p
}

func signedIn(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	member := claimsOf(team, "member").Subject
	check := func(t *testing.T, s ports.Stores, subject string) *account.Person {
		t.Helper()
		p, err := s.Users.SignedIn(ctx, team.Org, issuer, subject)
		must(t, err)
		return p
	}
	t.Run("SignedIn does not find a subject that never signed in", func(t *testing.T) {
		_, err := a.Users.SignedIn(ctx, team.Org, issuer, member)
		wantErr(t, err, account.ErrUserNotFound)
	})
	t.Run("SignedIn returns the user that SignIn returned, with all memberships", func(t *testing.T) {
		want := signIn(t, a.Stores, team.Org, claimsOf(team, "member"), nil)
		u, m, err := a.Users.Get(ctx, team.Org, team.Member.User)
		must(t, err)
		for range 2 { // the second may come from the cache
			got := check(t, a.Stores, member)
			same(t, "person", got, want)
			same(t, "user", &got.User, u)
			same(t, "memberships", got.Memberships, m)
		}
	})
	t.Run("the claims of the sign-in that creates a user are not cached", func(t *testing.T) {
		claims := claimsOf(team, "new")
		signIn(t, a.Stores, team.Org, claims, nil)
		if p := check(t, a.Stores, claims.Subject); p.LastSettled != nil {
			t.Errorf("met = %+v", p.LastSettled)
		}
	})
	t.Run("the claims of a sign-in are cached for at most a second", func(t *testing.T) {
		claims := claimsOf(team, "member")
		if p := check(t, a.Stores, member); p.LastSettled != nil {
			t.Fatalf("met = %+v before", p.LastSettled)
		}
		for late := time.Now().Add(proof.Patience); ; {
			start := time.Now()
			signIn(t, a.Stores, team.Org, claims, nil)
			p := check(t, a.Stores, member)
			if p.LastSettled != nil && p.LastSettled.Subject == member {
				break
			}
			// A busy machine may need longer than claims are cached.
			if time.Since(start) < 900*time.Millisecond || time.Now().After(late) {
				t.Fatalf("met = %+v", p.LastSettled)
			}
		}
		proof.EventuallyWithin(t, "they are forgotten", time.Second, func() bool {
			return check(t, a.Stores, member).LastSettled == nil
		})
	})
	t.Run("another issuer's subject, or another org's, is somebody else", func(t *testing.T) {
		for _, tt := range []struct {
			org             identity.OrgID
			issuer, subject string
		}{{a.Orgs[1], issuer, member}, {team.Org, "https://other.example", member},
			{team.Org, issuer, strings.ToUpper(member)}, {team.Org, issuer, ""}} {
			_, err := a.Users.SignedIn(ctx, tt.org, tt.issuer, tt.subject)
			wantErr(t, err, account.ErrUserNotFound)
		}
	})
	t.Run("a change of the user or a role is seen at once", func(t *testing.T) {
		_, err := a.Users.Update(ctx, team.Org, team.Member.User, func(u *account.User, m []account.Membership) error {
			return u.Change(team.Member, nil, m, account.UserChanges{Name: new("renamed")})
		})
		must(t, err)
		must(t, setRole(t, a.Stores, team.Owner, team.Workspace.ID, team.Member.User, identity.Admin))
		if got := check(t, a.Stores, member); got.User.Name != "renamed" || got.Memberships[0].Role != identity.Admin {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("a removal is seen at once, and by another process within a second", func(t *testing.T) {
		far := a.Second()
		same(t, "memberships", len(check(t, far, member).Memberships), 1)
		must(t, removeMember(t, a.Stores, team.Owner, team.Workspace.ID, team.Member.User))
		same(t, "memberships", len(check(t, a.Stores, member).Memberships), 0)
		proof.EventuallyWithin(t, "the removal", time.Second, func() bool {
			return len(check(t, far, member).Memberships) == 0
		})
	})
	t.Run("a transaction sees its own changes, and a rolled back change is not cached", func(t *testing.T) {
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			signIn(t, tx, team.Org, claimsOf(team, "undone"), nil)
			check(t, tx, claimsOf(team, "undone").Subject)
			return errBoom
		}), errBoom)
		_, err := a.Users.SignedIn(ctx, team.Org, issuer, claimsOf(team, "undone").Subject)
		wantErr(t, err, account.ErrUserNotFound)
	})
}

func signsIn(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	t.Run("a new user gets an account, and a workspace if the org is configured so", func(t *testing.T) {
		for _, isOwn := range []bool{false, true} {
			c := account.Claims{Issuer: issuer, Subject: fmt.Sprint("newcomer ", isOwn),
				Email: fmt.Sprint("new-", isOwn, "@example.com"), EmailVerified: true, Name: "Änn"}
			org := anyoneOf()
			org.OwnSpaces = isOwn
			p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: c, Org: org})
			must(t, err)
			u, m, err := a.Users.Get(ctx, team.Org, p.User.ID)
			must(t, err)
			same(t, "person", p, &account.Person{User: *u, Memberships: m})
			if u.Email != c.Email || !u.EmailVerified || u.Name != "Änn" || u.Service || u.Operator ||
				u.Revision != 1 || u.CreatedAt != fixture.At.Add(time.Hour) {
				t.Errorf("user %+v", u)
			}
			if isOwn != (len(m) == 1 && m[0].Role == identity.Owner && m[0].Workspace.Name == "Änn") ||
				(!isOwn && len(m) != 0) {
				t.Errorf("memberships %+v", m)
			}
			second := signIn(t, a.Stores, team.Org, c, nil)
			same(t, "person", second, p)
		}
	})
	t.Run("settle gets the accounts that the claims name", func(t *testing.T) {
		signIn(t, a.Stores, team.Org, claimsOf(team, "peer"), nil)
		for name, tt := range map[string]struct {
			claims          account.Claims
			linked, byEmail identity.UserID
		}{
			"who is linked":       {claimsOf(team, "peer"), team.Peer.User, team.Peer.User},
			"who has the address": {claimsOf(team, "viewer"), "", team.Viewer.User},
			"whatever its case": {account.Claims{Issuer: issuer, Subject: "x",
				Email: "VIEWER@" + team.Workspace.Slug + ".Example", EmailVerified: true}, "", team.Viewer.User},
			"nobody, if it only looks alike": {account.Claims{Issuer: issuer, Subject: "x",
				Email: "v\u0130ewer@" + team.Workspace.Slug + ".example", EmailVerified: true}, "", ""},
			"both, if they differ": {account.Claims{Issuer: issuer, Subject: claimsOf(team, "peer").Subject,
				Email: claimsOf(team, "viewer").Email, EmailVerified: true}, team.Peer.User, team.Viewer.User},
			"nobody, if it is not vouched for": {account.Claims{Issuer: issuer, Subject: "x",
				Email: claimsOf(team, "viewer").Email}, "", ""},
			"nobody by no address": {account.Claims{Issuer: issuer, Subject: "x", EmailVerified: true}, "", ""},
			"nobody by what is no address": {account.Claims{Issuer: issuer, Subject: "x",
				Email: "viewer@" + team.Workspace.Slug + ".example\x00", EmailVerified: true}, "", ""},
			"nobody of another org": {claimsOf(other, "viewer"), "", ""},
		} {
			_, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: tt.claims, Org: anyoneOf()},
				func(s *account.SignIn) error {
					if (s.Linked == nil) != (tt.linked == "") || (s.Linked != nil && s.Linked.ID != tt.linked) {
						t.Errorf("%s: linked = %+v", name, s.Linked)
					}
					if (s.ByEmail == nil) != (tt.byEmail == "") || (s.ByEmail != nil && s.ByEmail.ID != tt.byEmail) {
						t.Errorf("%s: by e-mail = %+v", name, s.ByEmail)
					}
					in := map[identity.UserID][]identity.WorkspaceID{}
					for _, id := range []identity.UserID{tt.linked, tt.byEmail} {
						if id != "" {
							in[id] = []identity.WorkspaceID{team.Workspace.ID}
						}
					}
					same(t, name+": in", s.MemberOf, in)
					return errBoom
				})
			wantErr(t, err, errBoom)
		}
	})
	t.Run("changes of an account are recorded in each of its workspaces", func(t *testing.T) {
		c := claimsOf(team, "member")
		second := ownSpace(t, a.Stores, team.Member, "second-"+team.Workspace.Slug).ID
		signIn(t, a.Stores, team.Org, c, nil)
		c.Name = "renamed"
		signIn(t, a.Stores, team.Org, c, nil)
		for _, ws := range []identity.WorkspaceID{team.Workspace.ID, second} {
			same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(team.Member.User))),
				[]string{"user.updated", "user.linked"})
		}
		same(t, "events elsewhere", len(eventsOn(t, a.Stores, other.Workspace.ID, string(team.Member.User))), 0)
	})
	t.Run("a sign-in joins the account with the same verified address, which stays unchanged", func(t *testing.T) {
		for _, from := range []string{issuer, otherIssuer} { // an account may be linked more than once
			c := claimsOf(team, "admin")
			c.Issuer = from
			if p := signIn(t, a.Stores, team.Org, c, nil); p.User.ID != team.Admin.User || len(p.Memberships) != 1 ||
				p.Memberships[0].Role != identity.Admin {
				t.Fatalf("got %+v", p)
			}
		}
	})
	t.Run("a second subject of one issuer does not join the account of its address", func(t *testing.T) {
		c := claimsOf(team, "admin")
		c.Subject = "second"
		for range 2 {
			if p := signIn(t, a.Stores, team.Org, c, nil); p.User.ID == team.Admin.User || p.User.Email != "" ||
				len(p.Memberships) != 0 {
				t.Fatalf("got %+v", p)
			}
		}
	})
	t.Run("a token's address is saved unless another account has it", func(t *testing.T) {
		c := account.Claims{Issuer: issuer, Subject: "moves", Email: "moves@example.com", EmailVerified: true}
		p := signIn(t, a.Stores, team.Org, c, nil)
		c.Email = "Moved@example.com"
		movedPerson := signIn(t, a.Stores, team.Org, c, nil)
		if movedPerson.User.ID != p.User.ID || movedPerson.User.Email != "Moved@example.com" {
			t.Fatalf("got %+v", movedPerson)
		}
		u, _, err := a.Users.FindByEmail(ctx, team.Org, "moved@example.com")
		must(t, err)
		same(t, "user", u.ID, p.User.ID)
		c.Email = claimsOf(team, "owner").Email
		if p := signIn(t, a.Stores, team.Org, c, nil); p.User.ID != movedPerson.User.ID ||
			p.User.Email != "Moved@example.com" {
			t.Fatalf("got %+v", p)
		}
		u, _, err = a.Users.FindByEmail(ctx, team.Org, c.Email)
		must(t, err)
		same(t, "user", u.ID, team.Owner.User)
	})
	t.Run("control characters in a token's claims do not prevent a sign-in", func(t *testing.T) {
		c := account.Claims{Issuer: issuer, Subject: "odd", Email: "odd@example.com\x00", EmailVerified: true,
			Name: "O\x00dd\n"}
		for range 2 {
			if p := signIn(t, a.Stores, team.Org, c, nil); p.User.Email != "" || p.User.Name != "Odd" {
				t.Fatalf("got %+v", p)
			}
		}
	})
	t.Run("nothing is saved if settle fails", func(t *testing.T) {
		c := account.Claims{Issuer: issuer, Subject: "fails", Email: "fails@example.com", EmailVerified: true}
		_, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: c, Org: anyoneOf()},
			func(s *account.SignIn) error {
				return errors.Join(s.Settle(identity.System(team.Org, "", "sign-in", fixture.At)), errBoom)
			})
		wantErr(t, err, errBoom)
		_, _, err = a.Users.FindByEmail(ctx, team.Org, c.Email)
		wantErr(t, err, account.ErrUserNotFound)
	})
}
