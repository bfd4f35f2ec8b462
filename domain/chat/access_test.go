package chat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAccess(t *testing.T) {
	for name, tt := range map[string]struct {
		by              identity.Actor
		private, shared access.Role // by visibility
	}{
		"the owner":                                 {owner, access.Owner, access.Owner},
		"a manager":                                 {manager, access.Manager, access.Manager},
		"an editor":                                 {editor, access.Editor, access.Editor},
		"a viewer":                                  {viewer, access.Viewer, access.Viewer},
		"who is invited, and has not accepted":      {invited, access.None, access.Viewer},
		"a member of the workspace":                 {stranger, access.None, access.Viewer},
		"an admin of the workspace":                 {admin, access.Manager, access.Manager},
		"the workspace's owner":                     {boss, access.Manager, access.Manager},
		"the owner by a key for viewing":            {capped, access.Viewer, access.Viewer},
		"the owner by a key for nothing":            {uncapped, access.None, access.None},
		"the owner who has left":                    {nobody, access.None, access.None},
		"the owner in another workspace":            {outsider, access.None, access.None},
		"an admin by a key for viewing":             {with(admin, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer }), access.None, access.Viewer},
		"a manager who is no member of it any more": {with(manager, func(a *identity.Actor) { a.Role = identity.NoRole }), access.None, access.None},
		"a manager by a key that caps at membership": {
			with(manager, func(a *identity.Actor) { a.Ceiling = identity.Member }), access.Manager, access.Manager},
	} {
		t.Run(name, func(t *testing.T) {
			c := sharedTemplate()
			assert.Equal(t, "private", c.Access(tt.by), tt.private)
			c.Visibility = access.Workspace
			assert.Equal(t, "visible to the workspace", c.Access(tt.by), tt.shared)
		})
	}
	t.Run("the workspace's owner acts for an owner who has left, an admin does not", func(t *testing.T) {
		c := sharedTemplate()
		c.OwnerLeft = true
		if c.Access(boss) != access.Owner || c.Access(admin) != access.Manager {
			t.Errorf("access = %q, %q", c.Access(boss), c.Access(admin))
		}
	})
	t.Run("instructions are for editors and above", func(t *testing.T) {
		for by, want := range map[*identity.Actor]bool{&owner: true, &manager: true, &editor: true, &admin: true,
			&viewer: false, &capped: false, &stranger: false} {
			if got := sharedTemplate().SeesInside(*by); got != want {
				t.Errorf("%s: %v", by.User, got)
			}
		}
	})
}

func TestParseRole(t *testing.T) {
	for s, want := range map[string]access.Role{"viewer": access.Viewer, "editor": access.Editor,
		"manager": access.Manager, "owner": access.None, "": access.None, "Viewer": access.None} {
		if got := access.Parse(s); got != want {
			t.Errorf("ParseRole(%q) = %v", s, got)
		}
	}
}

// TestWhoMayDoWhat is the table of the contract: what each role may do, and which errors others get.
func TestWhoMayDoWhat(t *testing.T) {
	status, visibility, ann := chat.StatusPublished, access.Workspace, identity.UserID("vic")
	change := func(c chat.Changes) func(*testing.T, *chat.Template, identity.Actor) error {
		return func(t *testing.T, c2 *chat.Template, by identity.Actor) error {
			return c2.Change(by, nil, c, handover(t, "vic"))
		}
	}
	for label, tt := range map[string]struct {
		needs access.Role
		do    func(*testing.T, *chat.Template, identity.Actor) error
	}{
		"change what it says":  {access.Editor, change(chat.Changes{Greeting: new("Hi")})},
		"change nothing":       {access.Editor, change(chat.Changes{})},
		"publish it":           {access.Manager, change(chat.Changes{Status: &status})},
		"show it to everybody": {access.Manager, change(chat.Changes{Visibility: &visibility})},
		"give it away":         {access.Owner, change(chat.Changes{Owner: &ann})},
		"delete it": {access.Owner,
			func(_ *testing.T, c *chat.Template, by identity.Actor) error { return c.Delete(by, nil) }},
		"attach a workflow": {access.Editor, func(t *testing.T, c *chat.Template, by identity.Actor) error {
			_, _, err := c.Attach(by, "workflow", registry(t))
			return err
		}},
		"detach a workflow": {access.Editor, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			c.Workflows = []chat.Workflow{{ID: "workflow"}}
			return c.Detach(by, nil, "workflow")
		}},
		"add a member": {access.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.Add(by, party("sam"), chat.Grant{User: "sam", Role: access.Viewer})
			return err
		}},
		"change a member": {access.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.ChangeMember(by, nil, party("ina"), access.Viewer)
			return err
		}},
		"remove another member": {access.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.Remove(by, nil, party("ina"))
			return err
		}},
	} {
		t.Run(label, func(t *testing.T) {
			for _, by := range []identity.Actor{owner, manager, editor, viewer, invited, stranger, admin, boss, capped,
				uncapped, nobody, outsider} {
				c := sharedTemplate()
				var want error
				switch existing := c.Access(by); {
				case existing == access.None:
					want = chat.ErrNotFound
				case existing < tt.needs:
					want = chat.ErrForbidden
				}
				if got := tt.do(t, c, by); !errors.Is(got, want) {
					t.Errorf("%s, a %q: %v, want %v", by.User, c.Access(by), got, want)
				}
				if want != nil {
					previous := sharedTemplate()
					previous.Workflows = c.Workflows
					unchanged(t, c, previous)
				}
				deletedTemplate := sharedTemplate()
				deletedTemplate.DeletedAt = now
				if got := tt.do(t, deletedTemplate, by); got != chat.ErrNotFound {
					t.Errorf("%s, of a deleted one: %v", by.User, got)
				}
			}
		})
	}
}

func TestRevisions(t *testing.T) {
	other := revision.Match{6}
	for label, do := range map[string]func(c *chat.Template) error{
		"change": func(c *chat.Template) error {
			return c.Change(owner, other, chat.Changes{Greeting: new("x")}, facts(t))
		},
		"delete": func(c *chat.Template) error { return c.Delete(owner, other) },
		"change member": func(c *chat.Template) error {
			_, err := c.ChangeMember(owner, other, party("eve"), access.Viewer)
			return err
		},
		"remove member": func(c *chat.Template) error { _, err := c.Remove(owner, other, party("eve")); return err },
		"detach": func(c *chat.Template) error {
			c.Workflows = []chat.Workflow{{ID: "workflow"}}
			return c.Detach(owner, other, "workflow")
		},
	} {
		t.Run(label+" is refused when another revision was meant",
			func(t *testing.T) { require.ErrorIs(t, do(sharedTemplate()), revision.ErrMismatch) })
	}
}

func TestRestore(t *testing.T) {
	remove := func() *chat.Template {
		c := sharedTemplate()
		c.DeletedAt = now.Add(-access.RestoreWithin)
		return c
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"the owner": {owner, nil}, "an admin of the workspace": {admin, nil}, "the workspace's owner": {boss, nil},
		"a manager is not told that it was there": {manager, chat.ErrNotFound},
		"nor is a viewer":                         {viewer, chat.ErrNotFound},
		"nor a stranger":                          {stranger, chat.ErrNotFound},
		"nor the owner by a key for viewing":      {capped, chat.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			c := remove()
			require.ErrorIs(t, c.Restore(tt.by), tt.want)
			if c.DeletedAt.IsZero() != (tt.want == nil) {
				t.Errorf("deleted at %v", c.DeletedAt)
			}
			if tt.want == nil {
				recorded(t, c, tt.by, "chat_template.restored")
			}
		})
	}
	t.Run("a live one stays as it is", func(t *testing.T) {
		c := sharedTemplate()
		require.NoError(t, c.Restore(owner))
		unchanged(t, c, sharedTemplate())
		require.ErrorIs(t, c.Restore(manager), chat.ErrForbidden)
	})
	t.Run("after 30 days it is gone", func(t *testing.T) {
		c := remove()
		c.DeletedAt = c.DeletedAt.Add(-time.Microsecond)
		require.ErrorIs(t, c.Restore(owner), chat.ErrNotFound)
	})
}
