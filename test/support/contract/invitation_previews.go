package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// invitationFound is the part of Invitations about what the bearer of a token sees.
func invitationFound(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	u, _, err := a.Users.Get(ctx, team.Org, team.Gone.User)
	must(t, err)
	for _, email := range []string{"nobody@" + team.Workspace.Slug + ".example", u.Email} { // who has an account
		i, token, err := tryInvite(t, a.Stores, team.Admin, ws, email, identity.Member)
		must(t, err)
		got, preview, err := a.Invitations.Find(ctx, team.Org, token.Hash())
		must(t, err)
		if got.ID != i.ID || got.Workspace != ws {
			t.Errorf("the invitation is %+v", got)
		}
		same(t, "the preview", preview, &account.InvitationPreview{
			Workspace: team.Workspace.Name, Inviter: "admin", Email: email, Role: identity.Member,
			ExpiresAt: i.ExpiresAt,
		})
		_, _, err = a.Invitations.Find(ctx, a.Orgs[1], token.Hash())
		wantErr(t, err, account.ErrInvitationNotFound)
	}
	_, token, err := tryInvite(t, a.Stores, team.Admin, ws, "late@"+team.Workspace.Slug+".example", identity.Member)
	must(t, err)
	must(t, removeMember(t, a.Stores, team.Owner, ws, team.Admin.User))
	_, _, err = a.Invitations.Find(ctx, team.Org, token.Hash())
	wantErr(t, err, account.ErrInvitationNotFound)
}
