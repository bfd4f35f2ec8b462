package account_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestEachRoleHasItsSources(t *testing.T) {
	direct := func(role identity.Role) account.RoleSource {
		return account.RoleSource{Kind: account.DirectRole, Role: role}
	}
	for name, tt := range map[string]struct {
		access account.WorkspaceAccess
		want   []account.RoleSource
	}{
		"given by hand": {account.WorkspaceAccess{Member: account.Member{Role: identity.Member,
			ByHand: identity.Member}}, []account.RoleSource{direct(identity.Member)}},
		"from everywhere, the highest first": {account.WorkspaceAccess{
			Groups: []account.Group{{ID: "grp_1", Name: "Leads"}},
			Member: account.Member{Role: identity.Owner, ByHand: identity.Viewer, Granted: account.Granted{
				"grp_1": identity.Admin, "grp_gone": identity.Member, "https://issuer": identity.Owner,
				identity.SCIMIssuer: identity.Member}},
		}, []account.RoleSource{
			{Kind: account.ClaimRole, Role: identity.Owner, Issuer: "https://issuer"},
			{Kind: account.GroupRole, Role: identity.Admin, Group: "grp_1", Name: "Leads"},
			{Kind: account.DirectoryRole, Role: identity.Member},
			{Kind: account.GroupRole, Role: identity.Member, Group: "grp_gone"},
			direct(identity.Viewer),
		}},
		"none": {account.WorkspaceAccess{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, tt.access.Sources()); d != "" {
				t.Errorf("sources (-want +got):\n%s", d)
			}
		})
	}
	t.Run("an operator's right", func(t *testing.T) {
		u := account.User{OperatorByHand: true, OperatorBy: []string{"https://issuer", identity.SCIMIssuer}}
		want := []account.RoleSource{direct(identity.NoRole), {Kind: account.ClaimRole, Issuer: "https://issuer"},
			{Kind: account.DirectoryRole}}
		if d := cmp.Diff(want, u.OperatorSources()); d != "" {
			t.Errorf("sources (-want +got):\n%s", d)
		}
	})
}
