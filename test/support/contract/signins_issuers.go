package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func signsInAtTwoIssuers(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	org, ws := team.Org, team.Workspace
	rules := []identity.ClaimRule{
		{Issuer: issuer, Claim: "in", Value: "true", Workspace: ws.Slug, Role: identity.Admin},
		{Issuer: issuer, Claim: "in", Value: "true", Operator: true},
		{Issuer: otherIssuer, Claim: "in", Value: "true", Workspace: ws.Slug, Role: identity.Viewer},
		{Issuer: otherIssuer, Claim: "in", Value: "true", Operator: true},
	}
	claimsAs := func(url string, in bool) account.Claims {
		return account.Claims{Issuer: url, Subject: "sub", Email: "both@" + ws.Slug + ".example", EmailVerified: true,
			Raw: map[string]any{"in": in}}
	}
	t.Run("the roles given by claim rules are stored per issuer", func(t *testing.T) {
		for _, step := range []struct {
			claims  account.Claims
			granted account.Granted
			by      []string
		}{
			{claimsAs(issuer, true), account.Granted{issuer: identity.Admin}, []string{issuer}},
			{claimsAs(otherIssuer, true), account.Granted{issuer: identity.Admin, otherIssuer: identity.Viewer},
				[]string{otherIssuer, issuer}},
			{claimsAs(issuer, false), account.Granted{otherIssuer: identity.Viewer}, []string{otherIssuer}},
			{claimsAs(issuer, true), account.Granted{issuer: identity.Admin, otherIssuer: identity.Viewer},
				[]string{otherIssuer, issuer}},
			{claimsAs(otherIssuer, false), account.Granted{issuer: identity.Admin}, []string{issuer}},
		} {
			p := signIn(t, a.Stores, org, step.claims, rules)
			u, m, err := a.Users.Get(ctx, org, p.User.ID)
			must(t, err)
			same(t, "granted", m[0].Granted, step.granted)
			same(t, "operator by", u.OperatorBy, step.by)
			same(t, "verified by", u.EmailVerifiedBy, issuer)
			got, err := a.Users.SignedIn(ctx, org, step.claims.Issuer, "sub")
			must(t, err)
			same(t, "signed in", got.Memberships, m)
			member, err := a.Workspaces.Member(ctx, org, ws.ID, p.User.ID)
			must(t, err)
			same(t, "member", member.Granted, step.granted)
		}
	})
	t.Run("a role given by hand replaces those of claim rules", func(t *testing.T) {
		p := signIn(t, a.Stores, org, claimsAs(issuer, true), rules)
		must(t, setRole(t, a.Stores, team.Owner, ws.ID, p.User.ID, identity.Member))
		_, m, err := a.Users.Get(ctx, org, p.User.ID)
		must(t, err)
		same(t, "granted", m[0].Granted, account.Granted(nil))
	})
	t.Run("an issuer that cannot vouch for an address finds no account by it", func(t *testing.T) {
		closedOrg := anyoneOf()
		closedOrg.Issuers[1].TrustEmail = false
		c := claimsOf(team, "viewer")
		c.Issuer = otherIssuer
		_, err := a.Users.SignIn(ctx, org, account.SignIn{Claims: c, Org: closedOrg}, func(s *account.SignIn) error {
			if s.ByEmail != nil || len(s.MemberOf) != 0 {
				t.Errorf("by e-mail = %+v, in %v", s.ByEmail, s.MemberOf)
			}
			return errBoom
		})
		wantErr(t, err, errBoom)
	})
}

func signsUpByInvitation(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	invitedOnly := anyoneOf()
	invitedOnly.SignUp = identity.SignUpInvited
	claims := func(email string) account.Claims {
		return account.Claims{Issuer: issuer, Subject: "sub-" + email, Email: email, EmailVerified: true}
	}
	grants := func(t *testing.T, c account.Claims) (found []account.Pending) {
		t.Helper()
		_, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: c, Org: invitedOnly},
			func(s *account.SignIn) error {
				found = s.Invitations
				return errBoom
			})
		wantErr(t, err, errBoom)
		return found
	}
	const email = "guest@example.com"
	t.Run("settle gets the open invitations of the address, in this org only", func(t *testing.T) {
		same(t, "invitations", len(grants(t, claims(email))), 0)
		invite(t, a.Stores, other.Owner, other.Workspace.ID, email, identity.Viewer)
		same(t, "invitations of another org", len(grants(t, claims(email))), 0)
		i, _ := invite(t, a.Stores, team.Owner, team.Workspace.ID, email, identity.Member)
		for _, address := range []string{email, "GUEST@Example.com"} {
			found := grants(t, claims(address))
			if len(found) != 1 || found[0].ID != i.ID || found[0].Role != identity.Member ||
				found[0].Inviter != identity.Owner || !found[0].ExpiresAt.Equal(i.ExpiresAt) {
				t.Errorf("%s is given %+v", address, found)
			}
		}
		same(t, "invitations of who has an account", len(grants(t, claimsOf(team, "nobody"))), 0)
		must(t, withdraw(t, a.Stores, team.Owner, team.Workspace.ID, i.ID))
		same(t, "invitations once withdrawn", len(grants(t, claims(email))), 0)
	})
	t.Run("settle gets the inviter's current role, and no invitation to a deleted workspace", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "closing-"+team.Workspace.Slug)
		invite(t, a.Stores, team.Admin, team.Workspace.ID, "late@example.com", identity.Viewer)
		must(t, removeMember(t, a.Stores, team.Owner, team.Workspace.ID, team.Admin.User))
		invite(t, a.Stores, team.Owner, w.ID, "late@example.com", identity.Viewer)
		must(t, changeWorkspace(t, a.Stores, team.Owner, w.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		found := grants(t, claims("late@example.com"))
		if len(found) != 1 || found[0].Inviter != identity.NoRole {
			t.Errorf("it is given %+v", found)
		}
	})
	t.Run("a refused sign-in stores nothing", func(t *testing.T) {
		c := claims("refused@example.com")
		_, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: c, Org: invitedOnly})
		wantErr(t, err, account.ErrSignUpClosed)
		_, err = a.Users.SignedIn(ctx, team.Org, issuer, c.Subject)
		wantErr(t, err, account.ErrUserNotFound)
		_, _, err = a.Users.FindByEmail(ctx, team.Org, c.Email)
		wantErr(t, err, account.ErrUserNotFound)
	})
	t.Run("concurrent sign-ins of an invited user create one account", func(t *testing.T) {
		invite(t, a.Stores, team.Owner, team.Workspace.ID, "joins-once@example.com", identity.Viewer)
		ids := make([]identity.UserID, 8)
		for _, err := range atOnce(len(ids), func(i int) error {
			p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: claims("joins-once@example.com"),
				Org: invitedOnly})
			if err == nil {
				ids[i] = p.User.ID
			}
			return err
		}) {
			must(t, err)
		}
		for _, id := range ids {
			same(t, "account", id, ids[0])
		}
	})
	t.Run("an expired invitation does not permit a sign-up", func(t *testing.T) {
		invite(t, a.Stores, team.Owner, team.Workspace.ID, "expired@example.com", identity.Viewer)
		by := identity.System(team.Org, "", "sign-in", fixture.At.Add(account.InvitationLasts+time.Hour))
		_, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: claims("expired@example.com"), Org: invitedOnly},
			func(s *account.SignIn) error { return s.Settle(by) })
		wantErr(t, err, account.ErrSignUpClosed)
	})
}
