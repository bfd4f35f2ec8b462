package account_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// team returns a workspace with a member of each role and a program, and a group of it with bob, a viewer.
func team(groupRole identity.Role) (*account.Workspace, *account.Group) {
	w := of(actor("olga", identity.Owner))
	for user, role := range map[identity.UserID]identity.Role{
		"ada": identity.Admin, "mia": identity.Member, "bob": identity.Viewer, "bot": identity.Member,
	} {
		w.Members[user] = account.Member{User: user, Role: role, ByHand: role, Service: user == "bot", Revision: 1}
	}
	w.Owners = 1
	g := &account.Group{ID: "grp_1", Org: "org", Workspace: "acme", Name: "Support", Role: groupRole, Revision: 3,
		People: map[identity.UserID]struct{}{"bob": {}}}
	if groupRole != identity.NoRole {
		m := w.Members["bob"]
		m.Granted, m.Role = account.Granted{"grp_1": groupRole}, max(m.Role, groupRole)
		w.Members["bob"] = m
	}
	return w, g
}

// inGroups are callers of different roles.
var inGroups = map[string]identity.Actor{
	"the owner": actor("olga", identity.Owner), "an admin": actor("ada", identity.Admin),
	"a member": actor("mia", identity.Member), "a stranger": actor("sam", identity.NoRole),
	"the system":    identity.System("org", "acme", "scim", now),
	"another org's": identity.System("other", "acme", "scim", now),
}

func TestNewGroup(t *testing.T) {
	for _, tt := range []struct {
		by    string
		role  identity.Role
		name  string
		count int
		want  error
		wrong string
	}{
		{by: "an admin", name: "Support"},
		{by: "an admin", name: "Support", role: identity.Admin},
		{by: "the owner", name: "Support", role: identity.Admin, count: account.MaxGroups - 1},
		{by: "the system", name: "Support", role: identity.Admin},
		{by: "an admin", name: "Support", count: account.MaxGroups, want: account.ErrTooManyGroups},
		{by: "a member", name: "Support", want: identity.ErrForbidden},
		{by: "a stranger", name: "Support", want: identity.ErrWorkspaceNotFound},
		{by: "another org's", name: "Support", want: identity.ErrWorkspaceNotFound},
		{by: "the owner", name: "", wrong: "/name too_short"},
		{by: "the owner", name: "a\u202eb", wrong: "/name invalid_characters"},
		{by: "the owner", name: string(make([]rune, 81)), wrong: "/name too_long"},
		{by: "the owner", name: "x", role: identity.Owner, wrong: "/role not_allowed_value"},
	} {
		t.Run(fmt.Sprintf("%s: %.10q as %s", tt.by, tt.name, tt.role), func(t *testing.T) {
			w, _ := team(identity.NoRole)
			by := inGroups[tt.by]
			g, err := w.NewGroup(by, tt.count, account.GroupDraft{Name: tt.name, Role: tt.role})
			if tt.wrong != "" {
				if got := wrongFields(t, err); !slices.Equal(got, []string{tt.wrong}) {
					t.Errorf("wrong fields %q, want %q", got, tt.wrong)
				}
				return
			}
			require.ErrorIs(t, err, tt.want)
			if err == nil {
				if !g.ID.IsGroup() || g.Name != tt.name || g.Role != tt.role || g.CreatedBy != by.User {
					t.Errorf("it is %+v", g)
				}
				recorded(t, g.Log, by, string(g.ID), "group.created")
			}
		})
	}
	t.Run("by an admin key of the owner, no group has a higher role than the key", func(t *testing.T) {
		w, _ := team(identity.NoRole)
		by := inGroups["the owner"]
		by.Ceiling = identity.Member
		_, err := w.NewGroup(by, 0, account.GroupDraft{Name: "x"})
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
}

func TestThePeopleOfAGroup(t *testing.T) {
	for _, tt := range []struct {
		name      string
		by        string
		role      identity.Role
		user      identity.UserID
		add, drop error
	}{
		{"an admin adds a member", "an admin", identity.NoRole, "mia", nil, nil},
		{"the system does", "the system", identity.Admin, "mia", nil, nil},
		{"a person in it changes nothing", "an admin", identity.NoRole, "bob", nil, nil},
		{"not a program", "an admin", identity.NoRole, "bot", account.ErrMemberNotFound, account.ErrMemberNotFound},
		{"not a stranger", "an admin", identity.NoRole, "sam", account.ErrMemberNotFound, account.ErrMemberNotFound},
		{"a member cannot", "a member", identity.NoRole, "bob", identity.ErrForbidden, identity.ErrForbidden},
		{"another org's cannot", "another org's", identity.NoRole, "mia", identity.ErrWorkspaceNotFound,
			identity.ErrWorkspaceNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, g := team(tt.role)
			by := inGroups[tt.by]
			require.ErrorIs(t, w.AddToGroup(by, g, tt.user), tt.add)
			if _, isIn := g.People[tt.user]; isIn != (tt.add == nil) && tt.user != "bob" {
				t.Errorf("in the group: %v", isIn)
			}
			if want := max(w.Members[tt.user].ByHand, tt.role); tt.add == nil && w.Members[tt.user].Role != want {
				t.Errorf("the role is %s, want %s", w.Members[tt.user].Role, want)
			}
			require.ErrorIs(t, w.RemoveFromGroup(by, nil, g, tt.user), tt.drop)
			if m := w.Members[tt.user]; tt.drop == nil && (m.Role != m.ByHand || len(m.Granted) > 0) {
				t.Errorf("the member is %+v", m)
			}
		})
	}
	t.Run("no one gives a role above their own", func(t *testing.T) {
		w, g := team(identity.Admin)
		by := actor("olga", identity.Owner)
		by.Ceiling = identity.Admin
		require.NoError(t, w.AddToGroup(by, g, "mia"))
		g.Role = identity.Owner // which no group has; the rule does not rely on it
		require.ErrorIs(t, w.AddToGroup(by, g, "ada"), identity.ErrRoleCeiling)
		require.ErrorIs(t, w.RemoveFromGroup(by, nil, g, "mia"), identity.ErrRoleCeiling)
	})
	t.Run("everyone can leave, except with a read-only credential", func(t *testing.T) {
		w, g := team(identity.Admin)
		by := actor("bob", identity.Viewer)
		require.ErrorIs(t, w.RemoveFromGroup(by, nil, g, "bob"), identity.ErrForbidden)
		by.Ceiling = identity.Member
		require.NoError(t, w.RemoveFromGroup(by, nil, g, "bob"))
		recorded(t, g.Log, by, "grp_1", "group_member.removed")
		if w.Members["bob"].Role != identity.Viewer {
			t.Errorf("the role stays: %+v", w.Members["bob"])
		}
	})
	t.Run("there are limits", func(t *testing.T) {
		w, g := team(identity.NoRole)
		m := w.Members["mia"]
		m.Groups = account.MaxGroupsOfPerson
		w.Members["mia"] = m
		require.ErrorIs(t, w.AddToGroup(inGroups["an admin"], g, "mia"), account.ErrTooManyGroupsOfPerson)
		for i := range account.MaxGroupPeople {
			g.People[identity.UserID(fmt.Sprint("usr_", i))] = struct{}{}
		}
		require.ErrorIs(t, w.AddToGroup(inGroups["an admin"], g, "ada"), account.ErrTooManyInGroup)
	})
}

func TestChangeGroup(t *testing.T) {
	role := func(r identity.Role) account.GroupChanges { return account.GroupChanges{Role: &r} }
	t.Run("a new role takes effect for its people", func(t *testing.T) {
		w, g := team(identity.NoRole)
		by := inGroups["an admin"]
		require.NoError(t, w.ChangeGroup(by, revision.Match{3}, g, role(identity.Admin)))
		if w.Members["bob"].Role != identity.Admin || w.Members["bob"].ByHand != identity.Viewer {
			t.Errorf("bob is %+v", w.Members["bob"])
		}
		recorded(t, g.Log, by, "grp_1", "group.updated")
		recorded(t, w.Log, by, "acme", "member.updated")
		require.NoError(t, w.ChangeGroup(by, nil, g, role(identity.NoRole)))
		if m := w.Members["bob"]; m.Role != identity.Viewer || len(m.Granted) > 0 {
			t.Errorf("bob is %+v", m)
		}
	})
	t.Run("the same values change nothing", func(t *testing.T) {
		w, g := team(identity.Member)
		c := role(identity.Member)
		c.Name = new("Support")
		require.NoError(t, w.ChangeGroup(inGroups["an admin"], nil, g, c))
		if g.Revision != 3 || len(g.Recorded())+len(w.Recorded()) > 0 {
			t.Errorf("it changed: %+v", g)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for name, err := range map[string]error{"a member": identity.ErrForbidden,
			"a stranger": identity.ErrWorkspaceNotFound} {
			w, g := team(identity.Member)
			require.ErrorIs(t, w.ChangeGroup(inGroups[name], nil, g, role(identity.Admin)), err)
			require.ErrorIs(t, w.DeleteGroup(inGroups[name], nil, g), err)
		}
		w, g := team(identity.Member)
		require.ErrorIs(t, w.ChangeGroup(inGroups["an admin"], revision.Match{9}, g, role(identity.Admin)),
			revision.ErrMismatch)
		require.ErrorIs(t, w.DeleteGroup(inGroups["an admin"], revision.Match{9}, g), revision.ErrMismatch)
	})
	t.Run("what its people have by a deleted group ends", func(t *testing.T) {
		w, g := team(identity.Admin)
		require.NoError(t, w.DeleteGroup(inGroups["an admin"], nil, g))
		if !g.Deleted || len(g.People) > 0 || w.Members["bob"].Role != identity.Viewer {
			t.Errorf("%+v, bob is %+v", g, w.Members["bob"])
		}
		recorded(t, g.Log, inGroups["an admin"], "grp_1", "group.deleted")
	})
}

func TestARoleByAGroupStays(t *testing.T) {
	rules := []identity.ClaimRule{{Issuer: "https://a", Workspace: "acme-slug", Role: identity.Member}}
	system := identity.System("org", "acme", "sign-in", now)
	t.Run("when the role by hand is changed", func(t *testing.T) {
		w, _ := team(identity.Member)
		m, err := w.ChangeRole(inGroups["the owner"], nil, "bob", identity.Admin, false)
		require.NoError(t, err)
		m, err = w.ChangeRole(inGroups["the owner"], at(m), "bob", identity.Viewer, false)
		require.NoError(t, err)
		if m.Role != identity.Member || m.ByHand != identity.Viewer {
			t.Errorf("bob is %+v", m)
		}
	})
	t.Run("when a token grants something, and no longer", func(t *testing.T) {
		w, _ := team(identity.Admin)
		for _, grantedRole := range []identity.Role{identity.Member, identity.NoRole} {
			w.SettleGranted(system, "bob", "https://a", grantedRole, rules)
			if m := w.Members["bob"]; m.Role != identity.Admin || m.Granted["grp_1"] != identity.Admin {
				t.Errorf("bob is %+v", m)
			}
		}
	})
	t.Run("but it keeps no one in the workspace", func(t *testing.T) {
		w, g := team(identity.Admin)
		w.SettleGranted(system, "new", "https://a", identity.Member, rules)
		require.NoError(t, w.AddToGroup(inGroups["an admin"], g, "new"))
		w.SettleGranted(system, "new", "https://a", identity.NoRole, rules)
		if m := w.Members["new"]; m.Role != identity.NoRole {
			t.Errorf("they are %+v", m)
		}
	})
	t.Run("a token without grants makes no member", func(t *testing.T) {
		w, _ := team(identity.Admin)
		w.SettleGranted(system, "new", "https://a", identity.NoRole, rules)
		if _, isMember := w.Members["new"]; isMember || len(w.Recorded()) > 0 {
			t.Error("they became a member")
		}
	})
	t.Run("the last owner stays owner when a group ends", func(t *testing.T) {
		w, g := team(identity.Member)
		m := w.Members["olga"]
		m.ByHand, m.Granted = identity.NoRole, account.Granted{"grp_1": identity.Member}
		w.Members["olga"] = m
		g.People["olga"] = struct{}{}
		require.NoError(t, w.DeleteGroup(inGroups["the system"], nil, g))
		if w.Members["olga"].Role != identity.Owner {
			t.Errorf("she is %+v", w.Members["olga"])
		}
	})
}

// at matches the revision of a member.
func at(m account.Member) revision.Match { return revision.Match{m.Revision} }

func TestInvitationsToGroups(t *testing.T) {
	i := func() *account.Invitation { return &account.Invitation{ID: "inv", Org: "org", Workspace: "acme"} }
	t.Run("an admin invites to groups up to their own role", func(t *testing.T) {
		w, g := team(identity.Admin)
		invitation := i()
		require.NoError(t, w.InviteToGroups(inGroups["an admin"], invitation, []*account.Group{g, g}))
		assert.EqualSlice(t, "the groups are", invitation.Groups, []identity.UserID{"grp_1"})
		require.ErrorIs(t, w.InviteToGroups(inGroups["a member"], i(), []*account.Group{g}), identity.ErrForbidden)
		by := inGroups["the owner"]
		g.Role = identity.Owner
		require.ErrorIs(t, w.InviteToGroups(by, i(), []*account.Group{g}), identity.ErrRoleCeiling)
		require.NoError(t, w.InviteToGroups(inGroups["a member"], invitation, nil))
		if invitation.Groups != nil {
			t.Errorf("the groups are %q", invitation.Groups)
		}
	})
	t.Run("who accepted it joins, and no one else", func(t *testing.T) {
		w, g := team(identity.Member)
		by, invitation := actor("mia", identity.Member), i()
		invitation.Groups = []identity.UserID{"grp_1"}
		require.ErrorIs(t, w.JoinInvited(by, g, invitation), account.ErrGroupNotFound)
		invitation.Accepted = true
		require.NoError(t, w.JoinInvited(by, g, invitation))
		if _, isIn := g.People["mia"]; !isIn {
			t.Error("mia is not in the group")
		}
		invitation.Groups = nil
		require.ErrorIs(t, w.JoinInvited(actor("ada", identity.Admin), g, invitation), account.ErrGroupNotFound)
	})
}
