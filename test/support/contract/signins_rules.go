package contract

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func signsInByOlderTokens(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	rules := []identity.ClaimRule{{Issuer: issuer, Claim: "in", Value: "true", Workspace: team.Workspace.Slug,
		Role: identity.Viewer}}
	claimsAt := func(subject string, minutes int, in bool) account.Claims {
		return account.Claims{Issuer: issuer, Subject: subject,
			IssuedAt: fixture.At.Add(time.Duration(minutes) * time.Minute), Raw: map[string]any{"in": in}}
	}
	t.Run("the time of the newest settled token is stored, even if it changes nothing", func(t *testing.T) {
		for _, step := range []struct {
			minutes, newest int
			in, member      bool
		}{{0, 0, true, true}, {2, 2, false, false}, {1, 2, true, false}, {3, 3, false, false}, {2, 3, true, false},
			{4, 4, true, true}, {3, 4, false, true}} {
			p := signIn(t, a.Stores, team.Org, claimsAt("aging", step.minutes, step.in), rules)
			same(t, "memberships", len(p.Memberships), map[bool]int{true: 1}[step.member])
			same(t, "newest", p.IssuedAt, fixture.At.Add(time.Duration(step.newest)*time.Minute))
			for _, s := range []ports.Stores{a.Stores, a.Second()} {
				got, err := s.Users.SignedIn(ctx, team.Org, issuer, "aging")
				must(t, err)
				got.LastSettled, p.LastSettled = nil, nil
				same(t, "person", got, p)
			}
		}
	})
	t.Run("of many tokens settled at once the newest decides", func(t *testing.T) {
		for round := range 5 {
			subject := fmt.Sprint("aging at once ", round)
			must(t, errors.Join(atOnce(8, func(i int) error {
				_, err := trySignIn(t, a.Stores, team.Org,
					account.SignIn{Claims: claimsAt(subject, i, i%2 == 1), Org: anyoneOf(rules...)})
				return err
			})...))
			p, err := a.Users.SignedIn(ctx, team.Org, issuer, subject)
			must(t, err)
			same(t, "memberships, newest", []any{len(p.Memberships), p.IssuedAt},
				[]any{1, fixture.At.Add(7 * time.Minute)})
		}
	})
}

func signsInUnderRules(t *testing.T, a Adapter) {
	t.Run("groups that follow a claim", func(t *testing.T) { signInFollowsGroups(t, a) })
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	org, ws := team.Org, team.Workspace
	grant := func(group, slug string, role identity.Role) identity.ClaimRule {
		return identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: group, Workspace: slug, Role: role}
	}
	rules := []identity.ClaimRule{
		grant("dev", ws.Slug, identity.Member), grant("lead", ws.Slug, identity.Admin),
		grant("dev", "never-was", identity.Owner), grant("dev", other.Workspace.Slug, identity.Owner),
		{Issuer: issuer, Claim: "groups", Value: "ops", Operator: true},
	}
	claimsAs := func(name string, groups ...any) account.Claims {
		c := claimsOf(team, name)
		c.Raw = map[string]any{"groups": groups}
		return c
	}
	t.Run("settle is given the workspaces of the org that the rules name, with the memberships of both accounts",
		func(t *testing.T) {
			signIn(t, a.Stores, org, claimsOf(team, "peer"), nil)
			c := claimsAs("peer")
			c.Email = claimsOf(team, "viewer").Email
			_, err := a.Users.SignIn(ctx, org, account.SignIn{Claims: c, Org: anyoneOf(rules...)},
				func(s *account.SignIn) error {
					w := s.Workspaces[ws.Slug]
					if len(s.Workspaces) != 1 || w == nil || len(w.Members) != 2 ||
						w.Members[team.Peer.User].Role != identity.Member ||
						w.Members[team.Viewer.User].Role != identity.Viewer || w.Owners != 1 {
						t.Errorf("workspaces = %+v", s.Workspaces)
					}
					return errBoom
				})
			wantErr(t, err, errBoom)
		})
	t.Run("claim rules give, raise, lower and take away a role", func(t *testing.T) {
		for _, step := range []struct {
			groups []any
			role   identity.Role
			event  string
		}{{[]any{"dev"}, identity.Member, "member.added"}, {[]any{"lead"}, identity.Admin, "member.updated"},
			{[]any{"dev"}, identity.Member, "member.updated"}, {nil, identity.NoRole, "member.removed"},
			{nil, identity.NoRole, "member.removed"}, {[]any{"lead"}, identity.Admin, "member.added"}} {
			p := signIn(t, a.Stores, org, claimsAs("gone", step.groups...), rules)
			same(t, "role", roles(t, a.Stores, org, ws.ID)[team.Gone.User], step.role)
			same(t, "event", eventsOn(t, a.Stores, ws.ID, string(ws.ID))[0].Type, step.event)
			otherCount := 0
			for _, m := range p.Memberships {
				if m.Workspace.ID == ws.ID {
					otherCount++
					if m.Role != step.role || m.ByHand != identity.NoRole {
						t.Errorf("membership = %+v", m)
					}
				}
			}
			same(t, "memberships there", otherCount, map[bool]int{true: 1}[step.role != identity.NoRole])
		}
	})
	t.Run("a user whose role is taken away by rules loses their keys", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Gone, account.KeyDraft{Name: "k"})
		signIn(t, a.Stores, org, claimsAs("gone"), rules)
		person, err := a.Keys.Principal(ctx, org, k.Hash)
		must(t, err)
		if person.Key.RevokedAt.IsZero() {
			t.Error("the key lives")
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, ws.ID, string(k.ID))),
			[]string{"api_key.revoked", "api_key.created"})
	})
	t.Run("claim rules never take away a role given by hand", func(t *testing.T) {
		check := func(p *account.Person, role, byHand identity.Role) {
			t.Helper()
			m := p.Memberships[0]
			same(t, "role, by hand", []identity.Role{m.Role, m.ByHand}, []identity.Role{role, byHand})
			w, err := a.Workspaces.Get(ctx, team.Peer, ws.ID)
			must(t, err)
			if who := w.Members[team.Peer.User]; p.User.ID == team.Peer.User {
				same(t, "member's role, by hand", []identity.Role{who.Role, who.ByHand}, []identity.Role{role, byHand})
			}
		}
		check(signIn(t, a.Stores, org, claimsAs("admin", "dev"), rules), identity.Admin, identity.Admin)
		check(signIn(t, a.Stores, org, claimsAs("peer", "lead"), rules), identity.Admin, identity.Member)
		check(signIn(t, a.Stores, org, claimsAs("peer"), rules), identity.Member, identity.Member)
		check(signIn(t, a.Stores, org, claimsAs("peer", "lead"), rules), identity.Admin, identity.Member)
		must(t, setRole(t, a.Stores, team.Owner, ws.ID, team.Peer.User, identity.Viewer))
		check(signIn(t, a.Stores, org, claimsAs("peer", "dev"), rules), identity.Member, identity.Viewer)
		check(signIn(t, a.Stores, org, claimsAs("peer"), rules), identity.Viewer, identity.Viewer)
	})
	t.Run("a role given by a rule goes with the rule, even after the workspace's slug has changed", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "ruled-"+ws.Slug)
		ruledRules := []identity.ClaimRule{grant("dev", w.Slug, identity.Member),
			{Issuer: issuer, Claim: "groups", Value: "dev", Operator: true}}
		check := func(p *account.Person, want identity.Role) {
			t.Helper()
			same(t, "role", roles(t, a.Stores, org, w.ID)[p.User.ID], want)
			same(t, "operator", p.User.Operator, want != identity.NoRole)
		}
		for _, rules := range [][]identity.ClaimRule{nil, rules[1:2],
			{grant("dev", "another-"+ws.Slug, identity.Member)}} {
			check(signIn(t, a.Stores, org, claimsAs("viewer", "dev"), ruledRules), identity.Member)
			check(signIn(t, a.Stores, org, claimsAs("viewer", "dev"), rules), identity.NoRole)
		}
		check(signIn(t, a.Stores, org, claimsAs("viewer", "dev"), ruledRules), identity.Member)
		must(t, changeWorkspace(t, a.Stores, team.Owner, w.ID, nil, func(w *account.Workspace) error {
			return w.Change(team.Owner, nil, nil, account.WorkspaceChanges{Slug: new("renamed-" + ws.Slug)})
		}))
		check(signIn(t, a.Stores, org, claimsAs("viewer"), ruledRules), identity.NoRole)
	})
	t.Run("claim rules set and clear the operator flag", func(t *testing.T) {
		for _, groups := range [][]any{{"ops"}, {}, {"ops", "dev"}} {
			p := signIn(t, a.Stores, org, claimsAs("viewer", groups...), rules)
			u, _, err := a.Users.Get(ctx, org, team.Viewer.User)
			must(t, err)
			same(t, "operator", []bool{p.User.Operator, u.Operator}, []bool{len(groups) > 0, len(groups) > 0})
		}
	})
	t.Run("claim rules add no one to a deleted workspace", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "deleted-too")
		must(t, changeWorkspace(t, a.Stores, team.Owner, w.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		signIn(t, a.Stores, org, claimsAs("peer", "dev"), []identity.ClaimRule{grant("dev", w.Slug, identity.Owner)})
		same(t, "members", len(roles(t, a.Stores, org, w.ID)), 1)
	})
}
