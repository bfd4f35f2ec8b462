package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNewWorkspace(t *testing.T) {
	system := identity.System("org", "", "cli", now)
	t.Run("a person's is owned by that person", func(t *testing.T) {
		by := person("ann")
		w, err := account.NewWorkspace(by, nil, "acme-2", "Acme")
		if err != nil || !id.Valid(identity.WorkspacePrefix, string(w.ID)) || w.Org != "org" || w.Slug != "acme-2" ||
			w.Name != "Acme" || w.CreatedBy != "ann" || w.Revision != 1 ||
			w.CreatedAt != later || w.UpdatedAt != later || !w.DeletedAt.IsZero() {
			t.Fatalf("got %+v, %v", w, err)
		}
		want := map[identity.UserID]account.Member{"ann": {User: "ann", Role: identity.Owner, ByHand: identity.Owner,
			Revision: 1, CreatedAt: later, UpdatedAt: later}}
		if !cmp.Equal(w.Members, want) || w.Owners != 1 {
			t.Errorf("members = %+v, %d owners", w.Members, w.Owners)
		}
		noted(t, w, by, "workspace.created", map[string]any{"slug": "acme-2"})
	})
	t.Run("the system's has no owner yet", func(t *testing.T) {
		w, err := account.NewWorkspace(system, nil, "acme-2", "")
		if err != nil || w.Org != "org" || w.Name != "acme-2" || len(w.Members) != 0 || w.Owners != 0 ||
			w.CreatedBy != "" {
			t.Fatalf("got %+v, %v", w, err)
		}
		noted(t, w, system, "workspace.created", map[string]any{"slug": "acme-2"})
	})
	actorAs := func(by identity.Actor, role identity.Role) identity.Actor { by.Role = role; return by }
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"an owner's key makes another": {actorAs(keyed(person("ann"), "acme", identity.Owner),
			identity.Owner), nil},
		"an owner's key that is capped does not": {actorAs(keyed(person("ann"), "acme", identity.Admin),
			identity.Admin), identity.ErrForbidden},
		"nor does a program's, which no one would own": {actorAs(program(keyed(person("bot"), "acme", identity.Owner)),
			identity.Owner), identity.ErrForbidden},
		"nor does the uncapped key of an admin": {actorAs(keyed(person("ann"), "acme", identity.Owner),
			identity.Admin), identity.ErrForbidden},
		"nor any credential that is capped":            {actor("ann", identity.Viewer), identity.ErrForbidden},
		"who is nowhere yet, and has signed in, makes": {person("ann"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := account.NewWorkspace(tt.by, nil, "acme-2", "")
			require.ErrorIs(t, err, tt.want)
			if (w != nil) != (tt.want == nil) {
				t.Errorf("got %+v", w)
			}
		})
	}
	for slug, ok := range map[string]bool{
		"a": true, "7": true, "a-b": true, "u-0123": true, strings.Repeat("x", 63): true, "workspace": true,
		"-a": false, "a-": false, "a--b": false, "A": false, "a_b": false, "ä": false, "a.b": false, "a\n": false,
		" ": false, strings.Repeat("x", 64): false,
	} {
		t.Run("slug "+slug, func(t *testing.T) {
			_, err := account.NewWorkspace(system, nil, slug, "x")
			if got := wrongFields(t, err); (got == nil) != ok || (!ok &&
				!slices.Equal(got, []string{"/slug invalid_format"})) {
				t.Errorf("wrong = %q", got)
			}
		})
	}
	for _, slug := range []string{"account", "admin", "api", "app", "auth", "billing", "docs", "embed", "health",
		"help", "invitations", "login", "logout",
		"me", "metrics", "new", "problems", "settings", "static", "status", "support", "system", "workspaces", "www"} {
		t.Run("slug "+slug+" is reserved", func(t *testing.T) {
			_, err := account.NewWorkspace(system, nil, slug, "x")
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/slug not_allowed_value"})
		})
	}
	for name, want := range map[string][]string{
		"Ä": nil, strings.Repeat("ä", 120): nil,
		strings.Repeat("ä", 121): {"/name too_long"}, "a\nb": {"/name invalid_characters"},
		"a\u0085b": {"/name invalid_characters"},
	} {
		t.Run("name "+name, func(t *testing.T) {
			_, err := account.NewWorkspace(system, nil, "slug", name)
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), want)
		})
	}
	t.Run("all that is wrong is told at once", func(t *testing.T) {
		_, err := account.NewWorkspace(system, nil, "No", "a\nb")
		if got := wrongFields(t, err); !slices.Equal(got,
			[]string{"/slug invalid_format", "/name invalid_characters"}) {
			t.Errorf("wrong = %q", got)
		}
	})
	t.Run("neither slug nor name is no workspace", func(t *testing.T) {
		_, err := account.NewWorkspace(system, nil, "", "")
		assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/name too_short"})
	})
}

func TestRoleOf(t *testing.T) {
	elsewhere := person("owner")
	elsewhere.Org = "another"
	for name, tt := range map[string]struct {
		by   identity.Actor
		want identity.Role
	}{
		"an owner":                             {person("owner"), identity.Owner},
		"a viewer":                             {person("viewer"), identity.Viewer},
		"a stranger":                           {person("eve"), identity.NoRole},
		"nobody":                               {person(""), identity.NoRole},
		"a role that the actor merely claims":  {actor("eve", identity.Owner), identity.NoRole},
		"a namesake of another org":            {elsewhere, identity.NoRole},
		"an owner's key":                       {keyed(person("owner"), "acme", identity.Owner), identity.Owner},
		"an owner's key that is capped":        {keyed(person("owner"), "acme", identity.Viewer), identity.Viewer},
		"a viewer's key does not raise anyone": {keyed(person("viewer"), "acme", identity.Owner), identity.Viewer},
		"an owner's key of another workspace":  {keyed(person("owner"), "other", identity.Owner), identity.NoRole},
		"a credential without a ceiling":       {identity.Actor{Org: "org", User: "owner"}, identity.NoRole},
		"who names another workspace": {identity.Actor{Org: "org", User: "admin", Workspace: "other",
			Role: identity.Owner, Ceiling: identity.Owner}, identity.Admin},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			assert.Equal(t, "RoleOf", w.RoleOf(tt.by), tt.want)
			w.DeletedAt = now
			assert.Equal(t, "in a deleted one RoleOf", w.RoleOf(tt.by), identity.NoRole)
		})
	}
	t.Run("a stranger is told nothing, a member what is lacking", func(t *testing.T) {
		for role := identity.NoRole; role <= identity.Owner; role++ {
			for need := identity.Viewer; need <= identity.Owner; need++ {
				want := error(nil)
				switch {
				case role == identity.NoRole:
					want = identity.ErrWorkspaceNotFound
				case role < need:
					want = identity.ErrForbidden
				}
				require.ErrorIs(t, acme().Allow(person(identity.UserID(role.String())), need), want)
			}
		}
	})
}

func TestChangeWorkspace(t *testing.T) {
	pair := account.WorkspaceChanges{Slug: new("new-slug"), Name: new("New")}
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"an owner may":                    {person("owner"), nil, nil},
		"an admin may":                    {person("admin"), revision.Match{3}, nil},
		"a member may not":                {person("member"), nil, identity.ErrForbidden},
		"nor a key that is capped":        {keyed(person("owner"), "acme", identity.Member), nil, identity.ErrForbidden},
		"a stranger is told nothing":      {person("eve"), nil, identity.ErrWorkspaceNotFound},
		"another revision was meant":      {person("admin"), revision.Match{2}, revision.ErrMismatch},
		"who may not is not told of that": {person("member"), revision.Match{2}, identity.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			require.ErrorIs(t, w.Change(tt.by, tt.at, nil, pair), tt.want)
			if tt.want != nil {
				unchanged(t, w, acme())
				return
			}
			if w.Slug != "new-slug" || w.Name != "New" || w.Revision != 4 || w.UpdatedAt != later {
				t.Fatalf("got %+v", w)
			}
			noted(t, w, tt.by, "workspace.updated",
				map[string]any{"slug": event.Change{From: "acme-slug", To: "new-slug"},
					"name": event.Change{From: "Acme", To: "New"}})
		})
	}
	t.Run("what is sent as it is changes nothing", func(t *testing.T) {
		for _, c := range []account.WorkspaceChanges{{}, {Slug: new("acme-slug")},
			{Slug: new("acme-slug"), Name: new("Acme")}} {
			w := acme()
			require.NoError(t, w.Change(person("admin"), nil, nil, c))
			unchanged(t, w, acme())
		}
	})
	t.Run("one field changes alone", func(t *testing.T) {
		w := acme()
		require.ErrorIs(t, w.Change(person("admin"), nil, nil,
			account.WorkspaceChanges{Slug: new("acme-slug"), Name: new("New")}), nil)
		if w.Slug != "acme-slug" || w.Revision != 4 {
			t.Fatalf("got %+v", w)
		}
		noted(t, w, person("admin"), "workspace.updated", map[string]any{"name": event.Change{From: "Acme", To: "New"}})
	})
	t.Run("an empty slug is none, and all that is wrong is told at once", func(t *testing.T) {
		w := acme()
		if got := wrongFields(t, w.Change(person("admin"), nil, nil,
			account.WorkspaceChanges{Slug: new(""), Name: new("")})); !slices.Equal(got,
			[]string{"/slug invalid_format", "/name too_short"}) {
			t.Errorf("wrong = %q", got)
		}
		if len(w.Recorded()) != 0 {
			t.Errorf("recorded %v", w.Recorded())
		}
	})
}

func TestDeleteWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"an owner may":               {person("owner"), revision.Match{3}, nil},
		"an admin may not":           {person("admin"), nil, identity.ErrForbidden},
		"nor an owner's capped key":  {keyed(person("owner"), "acme", identity.Admin), nil, identity.ErrForbidden},
		"a stranger is told nothing": {person("eve"), nil, identity.ErrWorkspaceNotFound},
		"another revision was meant": {person("owner"), revision.Match{2}, revision.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			require.ErrorIs(t, w.Delete(tt.by, tt.at), tt.want)
			if tt.want != nil {
				unchanged(t, w, acme())
				return
			}
			if w.DeletedAt != later || w.Revision != 4 || w.UpdatedAt != later {
				t.Fatalf("got %+v", w)
			}
			noted(t, w, tt.by, "workspace.deleted", map[string]any{"slug": "acme-slug"})
		})
	}
	t.Run("no one changes anything in a deleted workspace", func(t *testing.T) {
		isGone := func() *account.Workspace {
			w := second(acme(), "bob")
			w.DeletedAt = now
			return w
		}
		by := person("owner")
		for label, call := range map[string]func(*account.Workspace) error{
			"change": func(w *account.Workspace) error {
				return w.Change(by, nil, nil, account.WorkspaceChanges{Name: new("x")})
			},
			"delete": func(w *account.Workspace) error { return w.Delete(by, nil) },
			"change role": func(w *account.Workspace) error {
				_, err := w.ChangeRole(by, nil, "viewer", identity.Member, false)
				return err
			},
			"remove": func(w *account.Workspace) error { return w.Remove(by, nil, "viewer", false) },
			"leave":  func(w *account.Workspace) error { return w.Remove(by, nil, "owner", false) },
			"invite": func(w *account.Workspace) error {
				_, _, err := w.Invite(by, "a@b", identity.Viewer, "", nil)
				return err
			},
			"withdraw": func(w *account.Workspace) error {
				return w.Withdraw(by, nil, &account.Invitation{Workspace: "acme"})
			},
		} {
			w := isGone()
			if err := call(w); err != identity.ErrWorkspaceNotFound {
				t.Errorf("%s: %v", label, err)
			}
			unchanged(t, w, isGone())
		}
		w := isGone()
		w.SettleGranted(identity.System("org", "", "sign-in", later), "viewer", issuer, identity.Owner, nil)
		unchanged(t, w, isGone())
	})
}

func TestRestoreWorkspace(t *testing.T) {
	remove := func() *account.Workspace {
		w := acme()
		w.DeletedAt = now
		return w
	}
	system := func(now time.Time) identity.Actor { return identity.System("org", "", "cli", now) }
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"the system may":            {system(later), nil},
		"up to the last moment":     {system(now.Add(30 * 24 * time.Hour)), nil},
		"but not after":             {system(now.Add(30*24*time.Hour + 1)), identity.ErrWorkspaceNotFound},
		"an owner may not":          {person("owner"), identity.ErrWorkspaceNotFound},
		"nor the system of another": {identity.System("another", "", "cli", later), identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := remove()
			require.ErrorIs(t, w.Restore(tt.by), tt.want)
			if tt.want != nil {
				unchanged(t, w, remove())
				return
			}
			if !w.DeletedAt.IsZero() || w.Revision != 4 || w.UpdatedAt != tt.by.At ||
				w.RoleOf(person("owner")) != identity.Owner {
				t.Fatalf("got %+v", w)
			}
			noted(t, w, tt.by, "workspace.restored", map[string]any{"slug": "acme-slug"})
		})
	}
	t.Run("a live one stays as it is", func(t *testing.T) {
		w := acme()
		require.NoError(t, w.Restore(system(now.Add(1000*time.Hour))))
		unchanged(t, w, acme())
	})
	t.Run("a live one is none of a person's to restore", func(t *testing.T) {
		require.ErrorIs(t, acme().Restore(person("owner")), identity.ErrWorkspaceNotFound)
	})
}
