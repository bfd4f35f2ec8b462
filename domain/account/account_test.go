package account_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNewUser(t *testing.T) {
	system := identity.System("org", "acme", "cli", now)
	t.Run("a user is what was asked for", func(t *testing.T) {
		u, err := account.NewUser(system, "Ann@Example.com", "Änn", true)
		if err != nil || !id.Valid(identity.UserPrefix, string(u.ID)) || u.Org != "org" ||
			u.Email != "Ann@Example.com" || u.Name != "Änn" || !u.Operator || !u.OperatorByHand || u.Revision != 1 ||
			u.CreatedAt != now {
			t.Fatalf("got %+v, %v", u, err)
		}
		recorded(t, u.Log, system, string(u.ID), "user.created")
	})
	for email, ok := range map[string]bool{
		"a@b": true, "ä@ö.example": true, "a+b.c@d": true, strings.Repeat("x", 252) + "@b": true,
		"": false, "@": false, "a": false, "a@": false, "@b": false, "a@b@c": false, "a b@c": false, "a@b\n": false,
		"a@b\x00": false, "a@\xff": false, strings.Repeat("x", 253) + "@b": false,
	} {
		t.Run("address "+email, func(t *testing.T) {
			_, err := account.NewUser(system, email, "", false)
			if got := wrongFields(t, err); (got == nil) != ok || (!ok &&
				!slices.Equal(got, []string{"/email invalid_format"})) {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, ok := range map[string]bool{"": true, strings.Repeat("ä", 120): true, strings.Repeat("ä", 121): false,
		"a\nb": false, "a\x00": false} {
		t.Run("name "+name, func(t *testing.T) {
			_, err := account.NewUser(system, "a@b", name, false)
			if got := wrongFields(t, err); (got == nil) != ok || (!ok &&
				!slices.Equal(got, []string{"/name invalid_format"})) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestChangeUser(t *testing.T) {
	memberships := []account.Membership{{Workspace: account.Workspace{ID: "acme"}, Role: identity.Viewer},
		{Workspace: account.Workspace{ID: "beta"}, Role: identity.Owner}}
	ann := actor("ann", identity.Viewer)
	ann.Ceiling, ann.Key = identity.Owner, ""
	cappedActor, laterActor := ann, ann
	cappedActor.Ceiling, laterActor.At = identity.Viewer, now.Add(time.Minute)
	user := func() *account.User {
		return &account.User{ID: "ann", Org: "org", Name: "Ann", DefaultWorkspace: "old", Revision: 3, UpdatedAt: now}
	}
	ws := func(id identity.WorkspaceID) account.UserChanges { return account.UserChanges{DefaultWorkspace: &id} }
	for _, tt := range []struct {
		name string
		by   identity.Actor
		at   revision.Match
		c    account.UserChanges
		want error
	}{
		{"no one changes another user, not even an owner", actor("bob", identity.Owner), nil,
			account.UserChanges{Name: new("x")}, account.ErrUserNotFound},
		{"a viewing credential changes nothing", cappedActor, nil, account.UserChanges{Name: new("x")},
			identity.ErrForbidden},
		{"another revision was meant", ann, revision.Match{2}, account.UserChanges{Name: new("x")},
			revision.ErrMismatch},
		{"a default workspace that one is not in", ann, nil, ws("other"), identity.ErrWorkspaceNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := user()
			require.ErrorIs(t, u.Change(tt.by, tt.at, memberships, tt.c), tt.want)
			if u.Revision != 3 || len(u.Recorded()) != 0 || u.DefaultWorkspace != "old" {
				t.Fatalf("got %+v", u)
			}
		})
	}
	t.Run("name and default workspace change, as one revision, and each workspace hears of it without the values",
		func(t *testing.T) {
			u := user()
			require.ErrorIs(t, u.Change(laterActor, revision.Match{3}, memberships,
				account.UserChanges{Name: new("Anna"), DefaultWorkspace: new(identity.WorkspaceID("acme"))}), nil)
			if u.Name != "Anna" || u.DefaultWorkspace != "acme" || u.Revision != 4 || u.UpdatedAt != laterActor.At {
				t.Fatalf("got %+v", u)
			}
			recorded(t, u.Log, laterActor, "ann", "user.updated", "user.updated")
			for i, in := range []identity.WorkspaceID{"acme", "beta"} {
				if e := u.Recorded()[i]; e.Workspace != in ||
					!maps.Equal(e.Data, map[string]any{"name": true, "default_workspace_id": true}) {
					t.Errorf("event %+v", e)
				}
			}
		})
	t.Run("of who is nowhere, one event is kept", func(t *testing.T) {
		u := user()
		require.NoError(t, u.Change(laterActor, nil, nil, account.UserChanges{Name: new("Anna")}))
		recorded(t, u.Log, laterActor, "ann", "user.updated")
		if e := u.Recorded()[0]; e.Workspace != "" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("the default workspace can be cleared", func(t *testing.T) {
		u := user()
		require.NoError(t, u.Change(ann, nil, memberships, ws("")))
		if u.DefaultWorkspace != "" || u.Revision != 4 {
			t.Fatalf("got %+v", u)
		}
	})
	t.Run("an API key sees and chooses no default but its own workspace", func(t *testing.T) {
		for name, tt := range map[string]struct {
			is, seen, sent, want identity.WorkspaceID
			err                  error
		}{
			"its own is seen":                     {"acme", "acme", "acme", "acme", nil},
			"and cleared":                         {"acme", "acme", "", "", nil},
			"it is chosen":                        {"", "", "acme", "acme", nil},
			"in place of one that is not seen":    {"beta", "", "acme", "acme", nil},
			"which is not cleared":                {"beta", "", "", "beta", nil},
			"nor chosen, as if it were not there": {"acme", "acme", "beta", "acme", identity.ErrWorkspaceNotFound},
			"though it be the default":            {"beta", "", "beta", "beta", identity.ErrWorkspaceNotFound},
		} {
			t.Run(name, func(t *testing.T) {
				by, u := keyed(ann, "acme", identity.Owner), user()
				u.DefaultWorkspace = tt.is
				assert.Equal(t, "seen", u.VisibleDefault(by), tt.seen)
				assert.Equal(t, "the person sees", u.VisibleDefault(person("ann")), tt.is)
				require.ErrorIs(t, u.Change(by, nil, memberships, ws(tt.sent)), tt.err)
				if isChanged := tt.want != tt.is; u.DefaultWorkspace != tt.want ||
					isChanged != (len(u.Recorded()) > 0) {
					t.Errorf("default %q, recorded %d", u.DefaultWorkspace, len(u.Recorded()))
				}
			})
		}
	})
	t.Run("what is sent as it is changes nothing, though one has left that workspace", func(t *testing.T) {
		u := user()
		require.ErrorIs(t, u.Change(laterActor, nil, memberships,
			account.UserChanges{Name: new("Ann"), DefaultWorkspace: new(identity.WorkspaceID("old"))}), nil)
		if u.Revision != 3 || len(u.Recorded()) != 0 || u.UpdatedAt != now {
			t.Fatalf("got %+v", u)
		}
	})
	t.Run("a name that is no name is refused", func(t *testing.T) {
		u := user()
		if got := wrongFields(t, u.Change(ann, nil, memberships,
			account.UserChanges{Name: new("a\nb")})); !slices.Equal(got, []string{"/name invalid_format"}) ||
			len(u.Recorded()) != 0 {
			t.Fatalf("wrong = %q", got)
		}
	})
}

func TestPermissions(t *testing.T) {
	viewer := []string{"prompt_templates.read", "chat_templates.read", "connections.read", "sources.read",
		"payments.read", "presence.read", "presence.report", "api_keys.create", "members.read"}
	admin := []string{"prompt_templates.read", "prompt_templates.create", "chat_templates.read",
		"chat_templates.create", "connections.read", "connections.create", "connections.manage", "sources.read",
		"sources.create", "sources.manage", "payments.read", "payments.manage", "presence.read", "presence.report",
		"api_keys.create", "api_keys.manage", "members.read", "members.manage", "workspace.update", "events.read", "webhooks.manage"}
	for role, want := range map[identity.Role][]string{
		identity.NoRole: nil,
		identity.Viewer: viewer,
		identity.Member: {"prompt_templates.read", "prompt_templates.create", "chat_templates.read",
			"chat_templates.create", "connections.read", "connections.create", "sources.read", "sources.create",
			"payments.read", "presence.read", "presence.report", "api_keys.create", "members.read"},
		identity.Admin: admin,
		identity.Owner: slices.Insert(slices.Clone(admin), 19, "workspace.delete"),
	} {
		t.Run("a "+role.String(), func(t *testing.T) {
			by := actor("ann", role)
			by.Ceiling = identity.Owner
			assert.EqualSlice(t, "Permissions", account.Permissions(by), want)
		})
	}
	t.Run("a credential for viewing only reads", func(t *testing.T) {
		want := slices.DeleteFunc(slices.Clone(viewer),
			func(name string) bool { return !strings.HasSuffix(name, ".read") })
		assert.EqualSlice(t, "Permissions", account.Permissions(actor("ann", identity.Viewer)), want)
	})
}
