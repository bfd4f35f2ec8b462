package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// proven is the part of Tickets about which principal each proof belongs to.
func proven(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ask := func(s ports.Stores, org identity.OrgID, proofs ...session.Proof) []*session.Principal {
		t.Helper()
		who, err := s.Tickets.Proven(ctx, org, proofs)
		must(t, err)
		require.Equal(t, "answers to", len(who), len(proofs))
		return who
	}
	member, viewer := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"}),
		addKey(t, a.Stores, team.Viewer, account.KeyDraft{Name: "k"})
	signed := claimsOf(team, "signed")
	signIn(t, a.Stores, team.Org, signed, nil)
	byMember, byViewer := session.Proof{Key: member.Hash}, session.Proof{Key: viewer.Hash}
	bySignIn := session.Proof{Issuer: signed.Issuer, Subject: signed.Subject}

	t.Run("Proven returns the same principals as single look-ups, in the order of the proofs", func(t *testing.T) {
		for _, s := range []ports.Stores{a.Stores, a.Second()} {
			who := ask(s, team.Org, byViewer, bySignIn, session.Proof{Key: account.Hash{1}}, byMember,
				session.Proof{Issuer: signed.Issuer, Subject: "nobody"}, byViewer,
				session.Proof{Issuer: "https://other.example", Subject: signed.Subject})
			for i, key := range map[int]*account.Key{0: viewer, 3: member, 5: viewer} {
				want, err := s.Keys.Principal(ctx, team.Org, key.Hash)
				must(t, err)
				same(t, "the bearer", who[i], &session.Principal{Principal: *want})
			}
			want, err := s.Users.SignedIn(ctx, team.Org, signed.Issuer, signed.Subject)
			must(t, err)
			same(t, "who signed in", who[1], &session.Principal{Principal: account.Principal{User: want.User}})
			for _, i := range []int{2, 4, 6} {
				if who[i] != nil {
					t.Errorf("%d means %+v", i, who[i])
				}
			}
		}
	})
	t.Run("Proven of no proofs returns no principals", func(t *testing.T) { ask(a.Stores, team.Org) })
	t.Run("Proven returns no principals in another org", func(t *testing.T) {
		for i, who := range ask(a.Stores, a.Orgs[1], byMember, bySignIn) {
			if who != nil {
				t.Errorf("%d means %+v", i, who)
			}
		}
	})
	t.Run("Proven sees changes of another node at once", func(t *testing.T) {
		ask(a.Stores, team.Org, byMember, byViewer)
		second := a.Second()
		revoke(t, second, team.Member, member.ID)
		must(t, removeMember(t, second, team.Owner, team.Workspace.ID, team.Viewer.User))
		who := ask(a.Stores, team.Org, byMember, byViewer)
		if who[0].Key.RevokedAt.IsZero() || who[1].Membership.Role != identity.NoRole {
			t.Errorf("%+v\n%+v", who[0], who[1])
		}
	})
	t.Run("Proven returns the membership in the workspace of each proof, as it is now", func(t *testing.T) {
		in := func(ws identity.WorkspaceID, p session.Proof) session.Proof {
			p.Workspace = ws
			return p
		}
		user := ask(a.Stores, team.Org, bySignIn)[0].User.ID
		here := team.Workspace.ID
		change := func(change func(*account.Workspace) error) {
			t.Helper()
			must(t, changeWorkspace(t, a.Stores, team.Owner, here, []identity.UserID{user}, change))
		}
		change(func(w *account.Workspace) error {
			return w.Admit(identity.System(team.Org, "", "test", fixture.At), user, identity.Member)
		})
		who := ask(a.Second(), team.Org, in(here, bySignIn), bySignIn, in("wsp_other", bySignIn), in(here, byMember),
			in("wsp_other", byMember))
		for i, want := range []identity.Role{identity.Member, identity.NoRole, identity.NoRole, identity.Member,
			identity.NoRole} {
			m := who[i].Membership
			if m.Role != want || (m.Workspace.ID == here) != (want != identity.NoRole) {
				t.Errorf("proof %d has the role %s in %q", i, m.Role, m.Workspace.ID)
			}
		}
		change(func(w *account.Workspace) error {
			_, err := w.ChangeRole(team.Owner, nil, user, identity.Viewer, false)
			return err
		})
		if who := ask(a.Second(), team.Org, in(here, bySignIn)); who[0].Membership.Role != identity.Viewer {
			t.Errorf("the role is %s", who[0].Membership.Role)
		}
	})
	t.Run("Proven accepts more proofs than one statement can hold", func(t *testing.T) {
		many := make([]session.Proof, 10_000)
		for i := range many {
			many[i] = session.Proof{Key: account.Hash{byte(i), byte(i >> 8), 1}}
			if i%2 == 1 {
				many[i] = session.Proof{Issuer: signed.Issuer, Subject: string(rune(i))}
			}
		}
		many[0], many[9_999] = byMember, bySignIn
		if who := ask(a.Stores, team.Org, many...); who[0] == nil || who[9_999] == nil || who[1] != nil ||
			who[2] != nil {
			t.Errorf("%v %v %v %v", who[0], who[1], who[2], who[9_999])
		}
	})
	t.Run("a key of a deleted workspace has no principal", func(t *testing.T) {
		must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		if who := ask(a.Stores, team.Org, byMember); who[0] != nil {
			t.Errorf("%+v", who[0])
		}
	})
}
