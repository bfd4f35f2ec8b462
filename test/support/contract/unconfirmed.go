package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// joinUnconfirmed stores a person who has joined the workspace of team by an invitation as an admin.
func joinUnconfirmed(t *testing.T, a Adapter, team *fixture.Team) (*account.User, identity.Actor) {
	t.Helper()
	i, token := invite(t, a.Stores, team.Owner, team.Workspace.ID, "joins@"+team.Workspace.Slug+".example",
		identity.Admin)
	system := identity.System(team.Org, "", "sign-in", fixture.At)
	u, err := i.NewInvitedUser(system, &identity.Org{}, "Joins")
	must(t, err)
	must(t, a.Users.Add(t.Context(), u))
	by := system
	by.User = u.ID
	must(t, accept(t, a.Stores, by, token))
	return u, by
}

func unconfirmedInviters(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	u, joined := joinUnconfirmed(t, a, team)
	joined.Workspace, joined.Role = ws, identity.Admin
	bearer, _ := fixture.ServiceKey(t, a.Stores, joined, account.KeyDraft{Name: "p", Ceiling: identity.Admin})
	program := joined
	program.User, program.Service = bearer.ID, true
	for name, by := range map[string]identity.Actor{"the person": joined, "a program of the person": program} {
		t.Run(name+" can invite when the address is confirmed", func(t *testing.T) {
			_, _, err := tryInvite(t, a.Stores, by, ws, "other@example.com", identity.Viewer)
			wantErr(t, err, account.ErrAddressUnconfirmed)
		})
	}
	system := identity.System(team.Org, "", "sign-in", fixture.At)
	must(t, a.People.ChangeAccess(ctx, system, u.ID, func(access *account.Access) error {
		return access.ConfirmAddress(system, account.VerifiedByMailbox, true)
	}))
	got, _, err := a.Users.Get(ctx, team.Org, u.ID)
	must(t, err)
	same(t, "verified by", got.EmailVerifiedBy, account.VerifiedByMailbox)
	for _, by := range []identity.Actor{joined, program} {
		_, _, err := tryInvite(t, a.Stores, by, ws, string(by.User)+"@example.com", identity.Viewer)
		must(t, err)
	}
	t.Run("SignIn gives an unconfirmed address to the person who proves it", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		u, _ := joinUnconfirmed(t, a, team)
		p := signIn(t, a.Stores, team.Org, account.Claims{Issuer: issuer, Subject: "prover-" + u.Email, Email: u.Email,
			EmailVerified: true}, nil)
		if p.User.ID == u.ID || p.User.Email != u.Email {
			t.Errorf("%+v", p.User)
		}
		previous, _, err := a.Users.Get(ctx, team.Org, u.ID)
		must(t, err)
		if previous.Email != "" || previous.EmailVerified {
			t.Errorf("%+v", previous)
		}
	})
}
