package connection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAConnectionIsRenamedByWhoManagesIt(t *testing.T) {
	for name, tt := range map[string]struct {
		by       identity.Actor
		to       string
		wrong    error
		recorded string
	}{
		"its creator":                   {maker, "The shop", nil, "renamed"},
		"an admin":                      {admin, "The shop", nil, "renamed"},
		"the name that it has":          {admin, "PostgreSQL db.example.com shop", nil, ""},
		"another member":                {peer, "The shop", connection.ErrForbidden, ""},
		"an empty name":                 {admin, " ", fault.ErrInvalid, ""},
		"a name that is too long":       {admin, strings.Repeat("x", 121), fault.ErrInvalid, ""},
		"a name with a line feed":       {admin, "a\nb", fault.ErrInvalid, ""},
		"a name that changes direction": {admin, "a\u202eb", fault.ErrInvalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := made(t)
			c.Name = "PostgreSQL db.example.com shop"
			require.ErrorIs(t, c.Rename(tt.by, revision.Match{1}, tt.to), tt.wrong)
			got := recorded(c)
			if got != tt.recorded || (tt.recorded != "" && (c.Name != "The shop" || c.Revision != 2)) {
				t.Errorf("recorded %q, name %q, revision %d", got, c.Name, c.Revision)
			}
		})
	}
}

func TestOnlyARevokedConnectionIsErased(t *testing.T) {
	c := made(t)
	if err := c.Erase(admin); !errors.Is(err, connection.ErrNotRevoked) || string(c.Config) == "{}" {
		t.Fatalf("a live one: %v", err)
	}
	require.NoError(t, c.Revoke(maker, revision.Match{1}))
	assert.ErrorIs(t, c.Erase(peer), connection.ErrForbidden)
	for range 2 { // the second time changes nothing
		require.NoError(t, c.Erase(maker))
	}
	if string(c.Config) != "{}" || c.Name != "Erased" || c.Checks != nil || c.Server != (connection.Server{}) ||
		c.Revision != 3 {
		t.Errorf("left: %+v", c)
	}
	assert.Equal(t, "recorded", recorded(c), "revoked erased")
	if c.LeadsTo(credential(t, "")) {
		t.Error("an erased connection is taken to lead to the same server as another")
	}
}

func TestAConnectionWithoutAnOwnerIsConfirmedByAnAdmin(t *testing.T) {
	program := admin
	program.Service = true
	for name, tt := range map[string]struct {
		by       identity.Actor
		owned    bool
		wrong    error
		recorded string
	}{
		"an admin":                      {admin, false, nil, "confirmed"},
		"who created it":                {maker, false, identity.ErrForbidden, ""},
		"a service key":                 {program, false, identity.ErrForbidden, ""},
		"one that has an owner: no one": {admin, true, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := made(t)
			c.Ownerless = !tt.owned
			require.ErrorIs(t, c.Confirm(tt.by, revision.Match{1}), tt.wrong)
			if got := recorded(c); got != tt.recorded || (tt.recorded != "") != (c.Owner == admin.User) {
				t.Errorf("recorded %q, owner %q", got, c.Owner)
			}
		})
	}
	t.Run("who created it manages it no more", func(t *testing.T) {
		c := made(t)
		c.Ownerless = true
		if c.Access(maker) != connection.Use || c.Access(admin) != connection.Manage {
			t.Errorf("%v, %v", c.Access(maker), c.Access(admin))
		}
		if err := c.Confirm(admin, nil); err != nil || c.Access(maker) != connection.Use {
			t.Errorf("%v, %v", c.Access(maker), err)
		}
	})
}
