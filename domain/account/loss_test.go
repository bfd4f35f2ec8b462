package account_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// madeByAdmin returns what a store loads for the admin of acme: a personal key, one service key of each ceiling, one
// that has expired, and a key that the program of an admin created for itself.
func madeByAdmin() account.Powers {
	key := func(id identity.KeyID, user identity.UserID, ceiling identity.Role) *account.Key {
		return &account.Key{ID: id, Org: "org", Workspace: "acme", User: user, Service: user != "admin", Name: "k",
			Ceiling: ceiling, CreatedBy: "admin", Revision: 2}
	}
	expiredKey := key("expired", "old bot", identity.Admin)
	expiredKey.ExpiresAt = later
	return account.Powers{Keys: []*account.Key{key("personal", "admin", identity.Admin),
		key("viewers", "reader", identity.Viewer), key("members", "writer", identity.Member),
		key("admins", "bot", identity.Admin), key("child", "bot", identity.Admin), expiredKey},
		Endpoints: []*account.Endpoint{{Kind: account.Webhook, ID: "own", Owner: "admin"},
			{
				Kind:  account.Webhook,
				ID:    "bot's",
				Owner: "bot",
			}, {Kind: account.Webhook, ID: "old bot's", Owner: "old bot"},
			{Kind: account.ReplyEndpoint, ID: "answers", Owner: "admin"},
			{Kind: account.ReplyEndpoint, ID: "writer's", Owner: "writer"}}}
}

// madeBy returns acme with what user made.
func madeBy(user identity.UserID, p account.Powers) *account.Workspace {
	w := acme()
	w.Powers = map[identity.UserID]account.Powers{user: p}
	return w
}

func keyIDs(keys []*account.Key) (ids []identity.KeyID) {
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

func TestALossOfRoleTakesAlongWhatIsAboveIt(t *testing.T) {
	aboveViewer, aboveMember := []identity.KeyID{"members", "admins", "child"}, []identity.KeyID{"admins", "child"}
	for name, tt := range map[string]struct {
		to          identity.Role
		keep        account.KeepServiceKeys
		ended, kept []identity.KeyID
		hooks       []string
		answers     []string
	}{
		"to a viewer": {identity.Viewer, false, aboveViewer, nil, []string{"own", "bot's", "old bot's"},
			[]string{"answers", "writer's"}},
		"to a member": {identity.Member, false, aboveMember, nil, []string{"own", "bot's", "old bot's"},
			[]string{"answers"}},
		"to a member, who keeps": {identity.Member, true, nil, aboveMember, []string{"own", "old bot's"},
			[]string{"answers"}},
		"to the same role: nothing": {to: identity.Admin},
		"to an owner: nothing":      {to: identity.Owner},
	} {
		t.Run("from an admin "+name, func(t *testing.T) {
			w := madeBy("admin", madeByAdmin())
			if _, err := w.ChangeRole(person("owner"), nil, "admin", tt.to, tt.keep); err != nil {
				t.Fatal(err)
			}
			assert.NoDiff(t, "ended", cmp.Diff(tt.ended, keyIDs(w.Lost.Ended)))
			assert.NoDiff(t, "kept", cmp.Diff(tt.kept, keyIDs(w.Lost.Kept)))
			assert.EqualSlice(t, "revoked", endedKeys(w.Powers["admin"].Keys), tt.ended)
			hooks, answers := w.Lost.OwnerlessIDs(account.Webhook), w.Lost.OwnerlessIDs(account.ReplyEndpoint)
			if !slices.Equal(hooks, tt.hooks) || !slices.Equal(answers, tt.answers) {
				t.Errorf("without an owner: webhooks %q, want %q; reply endpoints %q, want %q",
					hooks, tt.hooks, answers, tt.answers)
			}
			for _, e := range w.Recorded() {
				for member, want := range map[string][]identity.KeyID{"service_keys_ended": tt.ended,
					"service_keys_kept": tt.kept} {
					if got, _ := e.Data[member].([]identity.KeyID); !slices.Equal(got, want) {
						t.Errorf("%s of the event is %q, want %q", member, got, want)
					}
				}
			}
		})
	}
	t.Run("a person who lowers their own role cannot keep them", func(t *testing.T) {
		w := madeBy("admin", madeByAdmin())
		_, err := w.ChangeRole(person("admin"), nil, "admin", identity.Viewer, true)
		require.ErrorIs(t, err, identity.ErrForbidden)
		if got := endedKeys(w.Powers["admin"].Keys); got != nil || len(w.Recorded()) > 0 {
			t.Errorf("ended %q", got)
		}
	})
	t.Run("nor with a service key of theirs", func(t *testing.T) {
		w := madeBy("admin", madeByAdmin())
		bot := served(w, identity.Admin).Members["bot"]
		w.Members["bot"], w.Makers = bot, map[identity.UserID][]identity.UserID{"bot": {"admin"}}
		_, err := w.ChangeRole(person("bot"), nil, "admin", identity.Viewer, true)
		require.ErrorIs(t, err, identity.ErrForbidden)
		require.ErrorIs(t, w.Remove(person("bot"), nil, "admin", true), identity.ErrForbidden)
		if got := endedKeys(w.Powers["admin"].Keys); got != nil || len(w.Recorded()) > 0 {
			t.Errorf("ended %q", got)
		}
	})
	t.Run("suspended keys end too", func(t *testing.T) {
		w := madeBy("admin", madeByAdmin())
		w.Powers["admin"].Keys[3].SuspendedAt = now
		_, err := w.ChangeRole(person("owner"), nil, "admin", identity.Member, false)
		require.NoError(t, err)
		assert.EqualSlice(t, "ended", endedKeys(w.Powers["admin"].Keys), aboveMember)
	})
	t.Run("a transfer ends what only the former owner could create", func(t *testing.T) {
		for _, keep := range []account.KeepServiceKeys{false, true} {
			p := madeByAdmin()
			p.Keys[3].Ceiling = identity.Owner
			w := madeBy("owner", p)
			_, err := w.Transfer(person("owner"), nil, "member", keep)
			require.NoError(t, err)
			ends, keptKeys := keyIDs(w.Lost.Ended), keyIDs(w.Lost.Kept)
			if keep {
				ends, keptKeys = keptKeys, ends
			}
			if !slices.Equal(ends, []identity.KeyID{"admins"}) || keptKeys != nil || w.Lost.Ownerless != nil {
				t.Errorf("ended %q, kept %q with keep %v", ends, keptKeys, keep)
			}
		}
	})
}

func TestKeptKeysBelongToWhoKeepsThem(t *testing.T) {
	roots := map[identity.KeyID]identity.UserID{"admins": "owner", "child": ""}
	keep := func() *account.Workspace {
		p := madeByAdmin()
		p.Keys[4].MadeBy = "admins" // it follows that key, as before
		return madeBy("admin", p)
	}
	check := func(t *testing.T, w *account.Workspace, want map[identity.KeyID]identity.UserID) {
		t.Helper()
		for _, k := range w.Powers["admin"].Keys {
			if k.KeptBy != want[k.ID] || k.CreatedBy != "admin" {
				t.Errorf("%s is kept by %q, want %q", k.ID, k.KeptBy, want[k.ID])
			}
		}
	}
	t.Run("an owner who lowers an admin answers for the admin's keys", func(t *testing.T) {
		w := keep()
		_, err := w.ChangeRole(person("owner"), nil, "admin", identity.Member, true)
		require.NoError(t, err)
		check(t, w, roots)
		k := w.Powers["admin"].Keys[3]
		if k.Revision != 3 || k.Recorded()[0].Type != "api_key.kept" || k.AlertRecipient() != "owner" {
			t.Errorf("the key is %+v", k)
		}
	})
	t.Run("an owner who removes an admin answers for all of them", func(t *testing.T) {
		w := keep()
		require.NoError(t, w.Remove(person("owner"), nil, "admin", true))
		check(t, w, map[identity.KeyID]identity.UserID{"viewers": "owner", "members": "owner", "admins": "owner"})
	})
	t.Run("a key that was suspended works again", func(t *testing.T) {
		for _, do := range []func(w *account.Workspace) error{
			func(w *account.Workspace) error { return w.Remove(person("owner"), nil, "admin", true) },
			func(w *account.Workspace) error {
				_, err := w.ChangeRole(person("owner"), nil, "admin", identity.Member, true)
				return err
			},
		} {
			w := keep()
			admins, child := w.Powers["admin"].Keys[3], w.Powers["admin"].Keys[4]
			admins.SuspendedAt, child.SuspendedAt = now, now
			require.NoError(t, do(w))
			if !admins.Live(now) || !child.Live(now) {
				t.Errorf("suspended at %v and %v", admins.SuspendedAt, child.SuspendedAt)
			}
		}
	})
	t.Run("a seller keeps programs as admins", func(t *testing.T) {
		p := madeByAdmin()
		p.Keys[3].Ceiling = identity.Owner
		w := madeBy("owner", p)
		w.Members["bot"] = account.Member{User: "bot", Service: true, Role: identity.Owner, ByHand: identity.Owner}
		_, err := w.Transfer(person("owner"), nil, "member", true)
		require.NoError(t, err)
		if got := w.Members["bot"]; got.Role != identity.Admin || got.ByHand != identity.Admin {
			t.Errorf("the program is %s", got.Role)
		}
		if !slices.Equal(keyIDs(w.Lost.Kept), []identity.KeyID{"admins"}) || w.Owners != 1 {
			t.Errorf("kept %q, %d owners", keyIDs(w.Lost.Kept), w.Owners)
		}
		var isLowered bool
		for _, e := range w.Recorded() {
			isLowered = isLowered ||
				(e.Type == "member.updated" && e.Data["user_id"] == identity.UserID("bot"))
		}
		if !isLowered {
			t.Error("no event tells of the program's role")
		}
	})
}

func TestAProgramCannotRaiseItsCreator(t *testing.T) {
	bot := func() *account.Workspace {
		w := served(acme(), identity.Owner)
		w.Makers = map[identity.UserID][]identity.UserID{"bot": {"member", "another"}}
		return w
	}
	by := program(keyed(person("bot"), "acme", identity.Owner))
	if bot().RoleOf(by) != identity.Owner {
		t.Fatal("the program is no owner")
	}
	group := func() *account.Group {
		return &account.Group{ID: "grp_1", Org: "org", Workspace: "acme", Name: "g", Role: identity.Admin, Revision: 1,
			People: map[identity.UserID]struct{}{}}
	}
	for name, do := range map[string]func(*account.Workspace) error{
		"by hand": func(w *account.Workspace) error {
			_, err := w.ChangeRole(by, nil, "member", identity.Admin, false)
			return err
		},
		"by a transfer": func(w *account.Workspace) error {
			_, err := w.Transfer(by, nil, "member", false)
			return err
		},
		"by a group": func(w *account.Workspace) error { return w.AddToGroup(by, group(), "member") },
		"by the role of a group": func(w *account.Workspace) error {
			g, role := group(), identity.Admin
			g.Role, g.People["member"] = identity.NoRole, struct{}{}
			return w.ChangeGroup(by, nil, g, account.GroupChanges{Role: &role})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := bot()
			require.ErrorIs(t, do(w), identity.ErrRoleCeiling)
			assert.Equal(t, "the creator", w.Members["member"].Role, identity.Member)
			w.Makers = nil
			require.NoError(t, do(w))
		})
	}
	for name, do := range map[string]func(*account.Workspace, identity.Role) error{
		"a new group": func(w *account.Workspace, role identity.Role) error {
			_, err := w.NewGroup(by, 0, account.GroupDraft{Name: "g", Role: role, External: "staff"})
			return err
		},
		"the external id of a group": func(w *account.Workspace, role identity.Role) error {
			g, external := group(), "staff"
			g.Role = role
			return w.ChangeGroup(by, nil, g, account.GroupChanges{External: &external})
		},
		"the role of a group with an external id": func(w *account.Workspace, role identity.Role) error {
			g := group()
			g.Role, g.External = identity.NoRole, "staff"
			return w.ChangeGroup(by, nil, g, account.GroupChanges{Role: &role})
		},
	} {
		t.Run("nor by "+name+" that people join by their tokens", func(t *testing.T) {
			w := bot()
			w.Members["another"] = account.Member{User: "another", Role: identity.Owner}
			require.ErrorIs(t, do(w, identity.Admin), identity.ErrRoleCeiling)
			require.ErrorIs(t, do(w, identity.Member), nil) // which the creator is
			delete(w.Members, "another")
			require.ErrorIs(t, do(w, identity.Viewer), identity.ErrRoleCeiling) // a creator has left
			w.Makers = map[identity.UserID][]identity.UserID{"bot": {"owner", "bot"}}
			require.NoError(t, do(w, identity.Admin))
		})
	}
	t.Run("but lowers it", func(t *testing.T) {
		w := bot()
		_, err := w.ChangeRole(by, nil, "member", identity.Viewer, false)
		require.NoError(t, err)
	})
}

func TestSuspensions(t *testing.T) {
	suspendedAccess := func() *account.Access {
		return &account.Access{User: &account.User{ID: "admin", Org: "org", Revision: 4},
			MemberOf: []identity.WorkspaceID{"acme"},
			Powers:   map[identity.WorkspaceID]account.Powers{"acme": madeByAdmin()}}
	}
	directory := identity.System("org", "", "scim", later)
	a := suspendedAccess()
	require.NoError(t, a.Suspend(directory, "left", identity.SuspendServiceKeys))
	all := []identity.KeyID{"viewers", "members", "admins", "child"}
	if got := keyIDs(a.Lost.Suspended); !slices.Equal(got, all) || a.User.Enabled() {
		t.Errorf("suspended %q", got)
	}
	for _, k := range a.Powers["acme"].Keys {
		if want := k.ID == "personal"; k.Live(later) != want || !k.RevokedAt.IsZero() {
			t.Errorf("%s is live: %v, revoked at %v", k.ID, !want, k.RevokedAt)
		}
	}
	require.NoError(t, a.Enable(directory, "back"))
	for _, k := range a.Powers["acme"].Keys {
		if want := k.ID != "expired"; k.Live(later) != want {
			t.Errorf("%s is live: %v", k.ID, !want)
		}
	}
	last := a.User.Recorded()[1]
	if got, _ := last.Data["service_keys_resumed"].([]identity.KeyID); last.Type != "user.enabled" ||
		!slices.Equal(got, all) {
		t.Errorf("recorded %+v", last)
	}
	t.Run("an operator who disables a suspended account can keep its keys", func(t *testing.T) {
		a := suspendedAccess()
		require.NoError(t, a.Suspend(directory, "left", identity.SuspendServiceKeys))
		require.NoError(t, a.Disable(directory, "stays away", true))
		for _, k := range a.Powers["acme"].Keys {
			if want := k.ID != "expired"; k.Live(later) != want || k.KeptBy != "" {
				t.Errorf("%s is live: %v, kept by %q", k.ID, !want, k.KeptBy)
			}
		}
		last := a.User.Recorded()[1]
		if got, _ := last.Data["service_keys_kept"].([]identity.KeyID); last.Type != "user.disabled" ||
			!slices.Equal(got, all) {
			t.Errorf("recorded %+v", last)
		}
	})
	t.Run("an org can have them kept or revoked instead", func(t *testing.T) {
		for keys, tt := range map[identity.SuspendedKeys]struct {
			isLive      bool
			kept, ended []identity.KeyID
		}{
			identity.KeepServiceKeys:   {true, all, nil},
			identity.RevokeServiceKeys: {false, nil, all},
		} {
			a := suspendedAccess()
			require.NoError(t, a.Suspend(directory, "left", keys))
			for _, k := range a.Powers["acme"].Keys {
				if slices.Contains(all, k.ID) && (k.Live(later) != tt.isLive || !k.SuspendedAt.IsZero()) {
					t.Errorf("%q: %s is live: %v", keys, k.ID, !tt.isLive)
				}
			}
			if !slices.Equal(keyIDs(a.Lost.Kept), tt.kept) || !slices.Equal(keyIDs(a.Lost.Ended), tt.ended) {
				t.Errorf("%q: lost %+v", keys, a.Lost)
			}
		}
	})
	t.Run("the only operator is not suspended", func(t *testing.T) {
		a := suspendedAccess()
		a.Operators = []identity.UserID{"admin"}
		err := a.Suspend(directory, "left", identity.SuspendServiceKeys)
		if !errors.Is(err, account.ErrDirectoryLastOperator) || !a.User.Enabled() {
			t.Errorf("suspended: %v", err)
		}
		a.Operators = append(a.Operators, "owner")
		require.NoError(t, a.Suspend(directory, "left", identity.SuspendServiceKeys))
	})
	t.Run("workspaces without an active owner are named", func(t *testing.T) {
		a := suspendedAccess()
		a.OnlyOwnerOf = []account.OwnedWorkspace{{ID: "acme", Slug: "acme"}}
		require.NoError(t, a.Suspend(directory, "left", identity.SuspendServiceKeys))
		first := a.User.Recorded()[0]
		if first.Type != "workspace.owner_lost" || first.Subject != "acme" || first.Workspace != "acme" ||
			first.Data["slug"] != "acme" || first.Data["user_id"] != identity.UserID("admin") {
			t.Errorf("recorded %+v", first)
		}
	})
	t.Run("another admin can rotate a suspended key", func(t *testing.T) {
		k := madeByAdmin().Keys[3]
		k.SuspendedAt = now
		by := actor("boss", identity.Admin)
		w := of(by)
		w.Members["bot"] = account.Member{User: "bot", Role: identity.Admin, Service: true}
		next, _, err := w.RotateKey(by, identity.KeyPolicy{}, nil, k, 0)
		if err != nil || !next.Live(now) || next.CreatedBy != "boss" {
			t.Errorf("%+v, %v", next, err)
		}
	})
}
