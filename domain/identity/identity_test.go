package identity_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestParseRole(t *testing.T) {
	for name, want := range map[string]identity.Role{
		"viewer": identity.Viewer, "member": identity.Member, "admin": identity.Admin, "owner": identity.Owner,
		"": identity.NoRole, "Owner": identity.NoRole, "editor": identity.NoRole, "operator": identity.NoRole,
		"owners": identity.NoRole,
	} {
		t.Run("a "+name, func(t *testing.T) {
			got := identity.ParseRole(name)
			if got != want || (got != identity.NoRole && got.String() != name) {
				t.Errorf("ParseRole = %d", got)
			}
		})
	}
	t.Run("each role includes those below it, and the zero role none", func(t *testing.T) {
		var zero identity.Role
		for i, r := range []identity.Role{zero, identity.Viewer, identity.Member, identity.Admin, identity.Owner} {
			if int(r) != i {
				t.Errorf("%s stands in place %d, want %d", r, r, i)
			}
		}
	})
}

func TestReadOnly(t *testing.T) {
	for ceiling, want := range map[identity.Role]bool{
		identity.NoRole: true, identity.Viewer: true, identity.Member: false, identity.Admin: false,
		identity.Owner: false,
	} {
		t.Run("a credential for a "+ceiling.String(), func(t *testing.T) {
			assert.Equal(t, "ReadOnly", (identity.Actor{Role: identity.Owner, Ceiling: ceiling}).ReadOnly(), want)
		})
	}
}

func TestSystem(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.FixedZone("CET", 3600))
	got := identity.System("org", "acme", "sweep", now)
	if got.User != "" || got.Org != "org" || got.Workspace != "acme" || got.Role != identity.Owner || got.ReadOnly() ||
		got.Operator || got.Request.ID != "sweep" || got.At != now.UTC() {
		t.Errorf("System = %+v", got)
	}
}
