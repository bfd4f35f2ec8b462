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
		persons, err := s.Tickets.Proven(ctx, org, proofs)
		must(t, err)
		require.Equal(t, "answers to", len(persons), len(proofs))
		return persons
	}
	member, viewer := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"}),
		addKey(t, a.Stores, team.Viewer, account.KeyDraft{Name: "k"})
	signedClaims := claimsOf(team, "signed")
	signIn(t, a.Stores, team.Org, signedClaims, nil)
	byMember, byViewer := session.Proof{Key: member.Hash}, session.Proof{Key: viewer.Hash}
	bySignIn := session.Proof{Issuer: signedClaims.Issuer, Subject: signedClaims.Subject}

	t.Run("Proven returns the same principals as single look-ups, in the order of the proofs", func(t *testing.T) {
		for _, s := range []ports.Stores{a.Stores, a.Second()} {
			persons := ask(s, team.Org, byViewer, bySignIn, session.Proof{Key: account.Hash{1}}, byMember,
				session.Proof{Issuer: signedClaims.Issuer, Subject: "nobody"}, byViewer,
				session.Proof{Issuer: "https://other.example", Subject: signedClaims.Subject})
			for i, key := range map[int]*account.Key{0: viewer, 3: member, 5: viewer} {
				want, err := s.Keys.Principal(ctx, team.Org, key.Hash)
				must(t, err)
				same(t, "the bearer", persons[i], &session.Principal{Principal: *want})
			}
			want, err := s.Users.SignedIn(ctx, team.Org, signedClaims.Issuer, signedClaims.Subject)
			must(t, err)
			same(t, "who signed in", persons[1], &session.Principal{Principal: account.Principal{User: want.User}})
			for _, i := range []int{2, 4, 6} {
				if persons[i] != nil {
					t.Errorf("%d means %+v", i, persons[i])
				}
			}
		}
	})
	t.Run("Proven of no proofs returns no principals", func(t *testing.T) { ask(a.Stores, team.Org) })
	t.Run("Proven returns no principals in another org", func(t *testing.T) {
		for i, person := range ask(a.Stores, a.Orgs[1], byMember, bySignIn) {
			if person != nil {
				t.Errorf("%d means %+v", i, person)
			}
		}
	})
	t.Run("Proven sees changes of another node at once", func(t *testing.T) {
		ask(a.Stores, team.Org, byMember, byViewer)
		second := a.Second()
		revoke(t, second, team.Member, member.ID)
		must(t, removeMember(t, second, team.Owner, team.Workspace.ID, team.Viewer.User))
		persons := ask(a.Stores, team.Org, byMember, byViewer)
		if persons[0].Key.RevokedAt.IsZero() || persons[1].Membership.Role != identity.NoRole {
			t.Errorf("%+v\n%+v", persons[0], persons[1])
		}
	})
	t.Run("Proven returns the membership in the workspace of each proof, as it is now", func(t *testing.T) {
		in := func(ws identity.WorkspaceID, p session.Proof) session.Proof {
			p.Workspace = ws
			return p
		}
		user := ask(a.Stores, team.Org, bySignIn)[0].User.ID
		local := team.Workspace.ID
		change := func(change func(*account.Workspace) error) {
			t.Helper()
			must(t, changeWorkspace(t, a.Stores, team.Owner, local, []identity.UserID{user}, change))
		}
		change(func(w *account.Workspace) error {
			return w.Admit(identity.System(team.Org, "", "test", fixture.At), user, identity.Member)
		})
		item := ask(a.Second(), team.Org, in(local, bySignIn), bySignIn, in("wsp_other", bySignIn), in(local, byMember),
			in("wsp_other", byMember))
		for i, want := range []identity.Role{identity.Member, identity.NoRole, identity.NoRole, identity.Member,
			identity.NoRole} {
			m := item[i].Membership
			if m.Role != want || (m.Workspace.ID == local) != (want != identity.NoRole) {
				t.Errorf("proof %d has the role %s in %q", i, m.Role, m.Workspace.ID)
			}
		}
		change(func(w *account.Workspace) error {
			_, err := w.ChangeRole(team.Owner, nil, user, identity.Viewer, false)
			return err
		})
		if persons := ask(a.Second(), team.Org, in(local, bySignIn)); persons[0].Membership.Role != identity.Viewer {
			t.Errorf("the role is %s", persons[0].Membership.Role)
		}
	})
	t.Run("Proven accepts more proofs than one statement can hold", func(t *testing.T) {
		multiple := make([]session.Proof, 10_000)
		for i := range multiple {
			multiple[i] = session.Proof{Key: account.Hash{byte(i), byte(i >> 8), 1}}
			if i%2 == 1 {
				multiple[i] = session.Proof{Issuer: signedClaims.Issuer, Subject: string(rune(i))}
			}
		}
		multiple[0], multiple[9_999] = byMember, bySignIn
		if users := ask(a.Stores, team.Org, multiple...); users[0] == nil || users[9_999] == nil || users[1] != nil ||
			users[2] != nil {
			t.Errorf("%v %v %v %v", users[0], users[1], users[2], users[9_999])
		}
	})
	t.Run("a key of a deleted workspace has no principal", func(t *testing.T) {
		must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		if persons := ask(a.Stores, team.Org, byMember); persons[0] != nil {
			t.Errorf("%+v", persons[0])
		}
	})
}
