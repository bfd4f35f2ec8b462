package account_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// sameMembers fails t unless w has exactly these roles, and counts its owners correctly.
func sameMembers(t rapid.TB, w *account.Workspace, want map[identity.UserID]identity.Role) {
	t.Helper()
	owners := 0
	for user, m := range w.Members {
		if m.Role == identity.Owner && !m.Service {
			owners++
		}
		if m.Role != want[user] {
			t.Errorf("%s is %q, want %q", user, m.Role, want[user])
		}
	}
	for user, role := range want {
		if w.Members[user].Role != role {
			t.Errorf("%s is %q, want %q", user, w.Members[user].Role, role)
		}
	}
	if w.Owners != owners {
		t.Errorf("it counts %d owners, and has %d", w.Owners, owners)
	}
}

// acmeWith returns the roles of acme's members, with some changed.
func acmeWith(changedRoles map[identity.UserID]identity.Role) map[identity.UserID]identity.Role {
	roles := map[identity.UserID]identity.Role{"viewer": identity.Viewer, "member": identity.Member,
		"admin": identity.Admin, "owner": identity.Owner}
	for user, role := range changedRoles {
		roles[user] = role
	}
	return roles
}

func TestChangeRole(t *testing.T) {
	two := func() *account.Workspace { return second(acme(), "bob") }
	bot := func() *account.Workspace { return served(acme(), identity.Owner) }
	for name, tt := range map[string]struct {
		w    func() *account.Workspace
		by   identity.Actor
		at   revision.Match
		user identity.UserID
		to   identity.Role
		want error
	}{
		"an owner makes an owner": {acme, person("owner"), revision.Match{5}, "viewer",
			identity.Owner, nil},
		"an admin makes an admin": {acme, person("admin"), nil, "member", identity.Admin, nil},
		"an admin lowers another": {
			func() *account.Workspace { w := acme(); w.Members["eva"] = w.Members["admin"]; return w }, person("eva"),
			nil, "admin", identity.Viewer, nil},
		"an admin lowers themselves":           {acme, person("admin"), nil, "admin", identity.Member, nil},
		"an owner of two steps down":           {two, person("owner"), nil, "owner", identity.Viewer, nil},
		"an owner lowers the other":            {two, person("owner"), nil, "bob", identity.Admin, nil},
		"an admin makes no owner":              {acme, person("admin"), nil, "viewer", identity.Owner, identity.ErrRoleCeiling},
		"not of themselves either":             {acme, person("admin"), nil, "admin", identity.Owner, identity.ErrRoleCeiling},
		"nor lowers one":                       {two, person("admin"), nil, "owner", identity.Viewer, identity.ErrRoleCeiling},
		"an owner's capped key makes no owner": {acme, keyed(person("owner"), "acme", identity.Admin), nil, "viewer", identity.Owner, identity.ErrRoleCeiling},
		"nor lowers one, though it be its own": {two, keyed(person("owner"), "acme", identity.Admin), nil, "owner",
			identity.Viewer, identity.ErrRoleCeiling},
		"a member cannot change anyone": {acme, person("member"), nil, "viewer", identity.Viewer,
			identity.ErrForbidden},
		"nor themselves": {acme, person("member"), nil, "member", identity.Viewer,
			identity.ErrForbidden},
		"a stranger is told nothing": {acme, person("eve"), nil, "eve", identity.Viewer,
			identity.ErrWorkspaceNotFound},
		"a key of another workspace is told so": {acme, keyed(person("owner"), "other", identity.Owner), nil, "viewer",
			identity.Member, identity.ErrWorkspaceNotFound},
		"who is no member has no role to change": {acme, person("owner"), nil, "eve", identity.Member,
			account.ErrMemberNotFound},
		"a member is not told who is one": {acme, person("member"), nil, "eve", identity.Viewer, identity.ErrForbidden},
		"another revision was meant": {acme, person("owner"), revision.Match{3}, "viewer", identity.Member,
			revision.ErrMismatch},
		"the last owner stays one": {acme, person("owner"), nil, "owner", identity.Admin,
			account.ErrLastOwner},
		"though a program be another": {bot, person("owner"), nil, "owner", identity.Admin, account.ErrLastOwner},
		"nor does the program lower them": {bot, keyed(program(person("bot")), "acme", identity.Owner), nil, "owner",
			identity.Viewer, account.ErrLastOwner},
		"which may be lowered itself": {bot, person("owner"), nil, "bot", identity.Viewer, nil},
		"and be made one again": {func() *account.Workspace { return served(acme(), identity.Viewer) },
			person("owner"), nil, "bot", identity.Owner, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := tt.w()
			m, err := w.ChangeRole(tt.by, tt.at, tt.user, tt.to, false)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				unchanged(t, w, tt.w())
				return
			}
			from := tt.w().Members[tt.user].Role
			if !cmp.Equal(m, w.Members[tt.user]) || m.Role != tt.to || m.Revision != 6 || m.UpdatedAt != later ||
				m.CreatedAt != now || w.Revision != 3 {
				t.Errorf("got %+v", m)
			}
			noted(t, w, tt.by, "member.updated",
				map[string]any{"user_id": tt.user, "role": event.Change{From: from.String(), To: tt.to.String()}})
		})
	}
	t.Run("the role that one has is no change, not even for the last owner", func(t *testing.T) {
		for _, user := range []identity.UserID{"owner", "viewer"} {
			w := acme()
			m, err := w.ChangeRole(person("owner"), revision.Match{5}, user, w.Members[user].Role, false)
			require.NoError(t, err)
			if !cmp.Equal(m, acme().Members[user]) {
				t.Errorf("got %+v", m)
			}
			unchanged(t, w, acme())
		}
	})
	t.Run("no role is none that can be given", func(t *testing.T) {
		for _, user := range []identity.UserID{"viewer", "owner"} {
			w := acme()
			_, err := w.ChangeRole(person("owner"), nil, user, identity.NoRole, false)
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/role not_allowed_value"})
			unchanged(t, w, acme())
		}
	})
	t.Run("it is by hand from then on, the role that rules gave before included", func(t *testing.T) {
		for role := identity.Viewer; role <= identity.Admin; role++ {
			w := byRules(acme(), "member", identity.NoRole)
			m, err := w.ChangeRole(person("admin"), nil, "member", role, false)
			if err != nil || m.ByHand != role || m.Role != role || m.Revision != 6 {
				t.Fatalf("got %+v, %v", m, err)
			}
			noted(t, w, person("admin"), "member.updated",
				map[string]any{"user_id": identity.UserID("member"),
					"role": event.Change{From: "member", To: role.String()}})
		}
	})
	t.Run("so the last owner by rules may be made one by hand", func(t *testing.T) {
		w := byRules(acme(), "owner", identity.NoRole)
		m, err := w.ChangeRole(person("owner"), nil, "owner", identity.Owner, false)
		if err != nil || m.ByHand != identity.Owner {
			t.Fatalf("got %+v, %v", m, err)
		}
		sameMembers(t, w, acmeWith(nil))
	})
}

func TestRemoveMember(t *testing.T) {
	two := func() *account.Workspace { return second(acme(), "bob") }
	bot := func() *account.Workspace { return served(acme(), identity.Owner) }
	for name, tt := range map[string]struct {
		w    func() *account.Workspace
		by   identity.Actor
		at   revision.Match
		user identity.UserID
		want error
	}{
		"an admin removes a member": {acme, person("admin"), revision.Match{5}, "member", nil},
		"an admin removes another": {
			func() *account.Workspace { w := acme(); w.Members["eva"] = w.Members["admin"]; return w }, person("eva"),
			nil, "admin", nil},
		"an owner removes another": {two, person("owner"), nil, "bob", nil},
		"a viewer leaves":          {acme, person("viewer"), nil, "viewer", nil},
		"a member leaves through a key": {acme, keyed(person("member"), "acme", identity.Member), nil,
			"member", nil},
		"an owner of two leaves": {two, person("owner"), nil, "owner", nil},
		"an owner leaves through an owner's key": {two, keyed(person("owner"), "acme", identity.Owner), nil,
			"owner", nil},
		"but not through one for less": {two, keyed(person("owner"), "acme", identity.Admin), nil,
			"owner", identity.ErrRoleCeiling},
		"nor for much less": {two, keyed(person("owner"), "acme", identity.Member), nil,
			"owner", identity.ErrRoleCeiling},
		"nor an admin through a member's": {acme, keyed(person("admin"), "acme", identity.Member), nil,
			"admin", identity.ErrRoleCeiling},
		"but none through a viewing key": {two, keyed(person("owner"), "acme", identity.Viewer), nil,
			"owner", identity.ErrForbidden},
		"not even a viewer": {acme, keyed(person("viewer"), "acme", identity.Viewer), nil,
			"viewer", identity.ErrForbidden},
		"an admin removes no owner": {two, person("admin"), nil, "owner", identity.ErrRoleCeiling},
		"nor does an owner's capped key another": {two, keyed(person("owner"), "acme", identity.Admin), nil, "bob",
			identity.ErrRoleCeiling},
		"a member cannot remove anyone":               {acme, person("member"), nil, "viewer", identity.ErrForbidden},
		"a member is not told who is one":             {acme, person("member"), nil, "eve", identity.ErrForbidden},
		"a stranger is told nothing":                  {acme, person("eve"), nil, "eve", identity.ErrWorkspaceNotFound},
		"a key of another workspace, likewise":        {acme, keyed(person("owner"), "other", identity.Owner), nil, "viewer", identity.ErrWorkspaceNotFound},
		"who is no member cannot be removed":          {acme, person("admin"), nil, "eve", account.ErrMemberNotFound},
		"another revision was meant":                  {acme, person("admin"), revision.Match{4}, "member", revision.ErrMismatch},
		"the last owner does not leave":               {acme, person("owner"), nil, "owner", account.ErrLastOwner},
		"nor to a program":                            {bot, person("owner"), nil, "owner", account.ErrLastOwner},
		"which cannot remove them":                    {bot, keyed(program(person("bot")), "acme", identity.Owner), nil, "owner", account.ErrLastOwner},
		"but may leave itself":                        {bot, keyed(program(person("bot")), "acme", identity.Owner), nil, "bot", nil},
		"and be removed":                              {bot, person("owner"), nil, "bot", nil},
		"nor is removed by someone who otherwise may": {acme, keyed(person("owner"), "acme", identity.Owner), nil, "owner", account.ErrLastOwner},
	} {
		t.Run(name, func(t *testing.T) {
			w := tt.w()
			require.ErrorIs(t, w.Remove(tt.by, tt.at, tt.user, false), tt.want)
			if tt.want != nil {
				unchanged(t, w, tt.w())
				return
			}
			if m := w.Members[tt.user]; m.Role != identity.NoRole || m.UpdatedAt != later {
				t.Errorf("got %+v", m)
			}
			noted(t, w, tt.by, "member.removed",
				map[string]any{"user_id": tt.user, "role": tt.w().Members[tt.user].Role.String()})
		})
	}
}

// TestMembersKeepTheirRules lets random people, and a program, perform random operations. A person
// always remains as owner, and no operation grants, or takes away, a role higher than its actor's.
func TestMembersKeepTheirRules(t *testing.T) {
	users := []identity.UserID{"viewer", "member", "admin", "owner", "bob", "eve", "bot"}
	rapid.Check(t, func(t *rapid.T) {
		w := served(second(acme(), "bob"), identity.Owner)
		user := rapid.SampledFrom(users)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			by, target, role := person(user.Draw(t, "by")), user.Draw(t, "target"),
				everyRole.Filter(func(r identity.Role) bool { return r > 0 }).Draw(t, "role")
			if ceiling := everyRole.Draw(t, "ceiling"); ceiling != identity.NoRole {
				by = keyed(by, "acme", ceiling)
			}
			previous, existing, byHand := w.Members[target].Role, w.RoleOf(by), w.Members[target].ByHand
			op := rapid.SampledFrom([]string{"change", "remove", "join", "keep"}).Draw(t, "op")
			if target == "bot" && (op == "join" || op == "keep") { // a program neither accepts nor signs in
				continue
			}
			var err error
			switch op {
			case "change":
				_, err = w.ChangeRole(by, nil, target, role, false)
			case "remove":
				err = w.Remove(by, nil, target, false)
			case "join":
				var i *account.Invitation
				if i, _, err = w.Invite(by, "x@example.com", role, "", nil); err == nil {
					err = w.Accept(person(target),
						&account.User{ID: target, Email: "x@example.com", EmailVerified: true}, i)
				}
			case "keep":
				w.SettleGranted(identity.System("org", "", "sign-in", later), target, issuer, role, nil)
			}
			is := w.Members[target].Role
			if err != nil && is != previous {
				t.Fatalf("%s was refused (%v), and made %s of %s", op, err, is, previous)
			}
			if op != "keep" && is != previous && max(is, previous) > existing {
				t.Fatalf("%s of %s, who has %s, made %s of %s", op, by.User, existing, is, previous)
			}
			if (op == "keep" && (w.Members[target].ByHand != byHand || is < byHand)) || w.Members[target].ByHand > is {
				t.Fatalf("%s made %+v, and %s was given by hand", op, w.Members[target], byHand)
			}
			if is == identity.NoRole {
				delete(w.Members, target) // as a store does
			}
			owners := 0
			for _, m := range w.Members {
				if m.Role == identity.Owner && !m.Service {
					owners++
				}
			}
			if owners == 0 || owners != w.Owners {
				t.Fatalf("after %s there are %d owners, counted %d", op, owners, w.Owners)
			}
			if errors.Is(err, account.ErrLastOwner) && owners != 1 {
				t.Fatalf("%s was taken for the last of %d owners", target, owners)
			}
		}
	})
}
