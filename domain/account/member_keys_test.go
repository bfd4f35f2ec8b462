package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestKeysEndWithTheMembership(t *testing.T) {
	keys := func(w *account.Workspace) *account.Workspace {
		w.Powers = map[identity.UserID]account.Powers{}
		for _, user := range []identity.UserID{"member", "admin"} {
			var p account.Powers
			for id, ends := range map[identity.KeyID]time.Time{"-lasts": {}, "-short": later.Add(1), "-over": later} {
				p.Keys = append(p.Keys, &account.Key{ID: identity.KeyID(user) + id, Org: "org",
					Workspace: "acme", User: user, Name: "laptop", ExpiresAt: ends, Revision: 2, CreatedAt: now,
					UpdatedAt: now})
			}
			w.Powers[user] = p
		}
		return w
	}
	abroad := person("admin")
	abroad.Workspace = "other"
	system := identity.System("org", "", "sign-in", later)
	for name, tt := range map[string]struct {
		by   identity.Actor
		do   func(w *account.Workspace, by identity.Actor) error
		ends bool
	}{
		"a removal": {abroad, func(w *account.Workspace, by identity.Actor) error {
			return w.Remove(by, nil, "member", false)
		}, true},
		"leaving": {person("member"), func(w *account.Workspace, by identity.Actor) error {
			return w.Remove(by, nil, "member", false)
		}, true},
		"rules that take it": {system, func(w *account.Workspace, by identity.Actor) error {
			byRules(w, "member", identity.NoRole).SettleGranted(by, "member", issuer, identity.NoRole, nil)
			return nil
		}, true},
		"no other role": {person("admin"), func(w *account.Workspace, by identity.Actor) error {
			_, err := w.ChangeRole(by, nil, "member", identity.Viewer, false)
			return err
		}, false},
		"nor what rules lower": {system, func(w *account.Workspace, by identity.Actor) error {
			byRules(w, "member", identity.NoRole).SettleGranted(by, "member", issuer, identity.Viewer, nil)
			return nil
		}, false},
		"nor a removal that was refused": {person("viewer"), func(w *account.Workspace, by identity.Actor) error {
			if w.Remove(by, nil, "member", false) == nil {
				return errors.New("it was not")
			}
			return nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := keys(acme())
			require.NoError(t, tt.do(w, tt.by))
			for user, powers := range w.Powers {
				for _, k := range powers.Keys {
					// another user's key, or one that had ended
					if user != "member" || !tt.ends || k.ExpiresAt.Equal(later) {
						if !k.RevokedAt.IsZero() || k.Revision != 2 || len(k.Recorded()) != 0 {
							t.Errorf("%s changed: %+v", k.ID, k)
						}
						continue
					}
					if k.RevokedAt != later || k.UpdatedAt != later || k.Revision != 3 {
						t.Errorf("got %+v", k)
					}
					recorded(t, k.Log, tt.by, string(k.ID), "api_key.revoked")
					if e := k.Recorded()[0]; e.Workspace != "acme" || e.Data["name"] != "laptop" {
						t.Errorf("event %+v", e)
					}
				}
			}
		})
	}
}

func TestKeep(t *testing.T) {
	system := identity.System("org", "", "sign-in", later)
	workspace := func(w *account.Workspace, user identity.UserID) *account.Workspace {
		return byRules(w, user, identity.NoRole)
	}
	for name, tt := range map[string]struct {
		w       *account.Workspace
		user    identity.UserID
		granted identity.Role
		want    identity.Role
		byHand  identity.Role
		event   string // empty: nothing changes
	}{
		"who is no member becomes one": {acme(), "new", identity.Member, identity.Member, identity.NoRole,
			"member.added"},
		"even an owner": {acme(), "new", identity.Owner, identity.Owner, identity.NoRole,
			"member.added"},
		"but not without a role": {acme(), "new", identity.NoRole, identity.NoRole, identity.NoRole, ""},
		"a role by rules is kept": {workspace(acme(), "member"), "member", identity.Member, identity.Member,
			identity.NoRole, ""},
		"raised": {workspace(acme(), "member"), "member", identity.Admin, identity.Admin,
			identity.NoRole, "member.updated"},
		"lowered": {workspace(acme(), "admin"), "admin", identity.Viewer, identity.Viewer, identity.NoRole,
			"member.updated"},
		"and taken away": {workspace(acme(), "admin"), "admin", identity.NoRole, identity.NoRole,
			identity.NoRole, "member.removed"},
		"a role given by hand is not lowered": {acme(), "admin", identity.Viewer, identity.Admin, identity.Admin, ""},
		"nor taken away": {acme(), "viewer", identity.NoRole, identity.Viewer,
			identity.Viewer, ""},
		"it stays by hand where the rules grant the same": {acme(), "admin", identity.Admin, identity.Admin,
			identity.Admin, ""},
		"but it is raised": {acme(), "viewer", identity.Admin, identity.Admin,
			identity.Viewer, "member.updated"},
		"what was raised comes down to what was by hand": {byRules(acme(), "admin", identity.Viewer), "admin",
			identity.NoRole, identity.Viewer, identity.Viewer, "member.updated"},
		"or to what the rules grant still": {byRules(acme(), "admin", identity.Viewer), "admin",
			identity.Member, identity.Member, identity.Viewer, "member.updated"},
		"the last owner stays, though the rules say other": {workspace(acme(), "owner"), "owner", identity.Viewer,
			identity.Owner, identity.NoRole, ""},
		"and though they say nothing": {workspace(acme(), "owner"), "owner", identity.NoRole, identity.Owner,
			identity.NoRole, ""},
		"even where a program is one too": {served(workspace(acme(), "owner"), identity.Owner), "owner",
			identity.NoRole, identity.Owner, identity.NoRole, ""},
		"an owner of two is lowered": {workspace(second(acme(), "bob"), "bob"), "bob", identity.Viewer, identity.Viewer,
			identity.NoRole, "member.updated"},
	} {
		t.Run(name, func(t *testing.T) {
			from := tt.w.Members[tt.user].Role
			previous := tt.w.Members[tt.user]
			tt.w.SettleGranted(system, tt.user, issuer, tt.granted, nil)
			roles := acmeWith(map[identity.UserID]identity.Role{tt.user: tt.want})
			for _, another := range []identity.UserID{"bob", "bot"} {
				if _, in := tt.w.Members[another]; in && tt.user != another {
					roles[another] = identity.Owner
				}
			}
			sameMembers(t, tt.w, roles)
			m := tt.w.Members[tt.user]
			assert.Equal(t, "by hand", m.ByHand, tt.byHand)
			data := map[string]any{"user_id": tt.user, "role": tt.want.String()}
			if tt.want > tt.byHand {
				data["granted_by"] = []string{issuer}
			}
			switch tt.event {
			case "":
				if !cmp.Equal(m, previous) || len(tt.w.Recorded()) != 0 {
					t.Errorf("it changed: %+v, %v", m, tt.w.Recorded())
				}
			case "member.added":
				noted(t, tt.w, system, tt.event, data)
			case "member.removed":
				noted(t, tt.w, system, tt.event, map[string]any{"user_id": tt.user, "role": from.String()})
			default:
				data["role"] = event.Change{From: from.String(), To: tt.want.String()}
				noted(t, tt.w, system, tt.event, data)
			}
		})
	}
}
