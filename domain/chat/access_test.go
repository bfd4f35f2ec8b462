package chat_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestAccess(t *testing.T) {
	for who, tt := range map[string]struct {
		by              identity.Actor
		private, shared chat.Role // by visibility
	}{
		"the owner":                                  {owner, chat.Owner, chat.Owner},
		"a manager":                                  {manager, chat.Manager, chat.Manager},
		"an editor":                                  {editor, chat.Editor, chat.Editor},
		"a viewer":                                   {viewer, chat.Viewer, chat.Viewer},
		"who is invited, and has not accepted":       {invited, chat.NoRole, chat.Viewer},
		"a member of the workspace":                  {stranger, chat.NoRole, chat.Viewer},
		"an admin of the workspace":                  {admin, chat.Manager, chat.Manager},
		"the workspace's owner":                      {boss, chat.Manager, chat.Manager},
		"the owner by a key for viewing":             {capped, chat.Viewer, chat.Viewer},
		"the owner by a key for nothing":             {uncapped, chat.NoRole, chat.NoRole},
		"the owner who has left":                     {nobody, chat.NoRole, chat.NoRole},
		"the owner in another workspace":             {outsider, chat.NoRole, chat.NoRole},
		"an admin by a key for viewing":              {with(admin, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer }), chat.NoRole, chat.Viewer},
		"a manager who is no member of it any more":  {with(manager, func(a *identity.Actor) { a.Role = identity.NoRole }), chat.NoRole, chat.NoRole},
		"a manager by a key that caps at membership": {with(manager, func(a *identity.Actor) { a.Ceiling = identity.Member }), chat.Manager, chat.Manager},
	} {
		t.Run(who, func(t *testing.T) {
			c := cast()
			if got := c.Access(tt.by); got != tt.private {
				t.Errorf("private: %q, want %q", got, tt.private)
			}
			c.Visibility = chat.VisibleToWorkspace
			if got := c.Access(tt.by); got != tt.shared {
				t.Errorf("visible to the workspace: %q, want %q", got, tt.shared)
			}
		})
	}
	t.Run("the workspace's owner acts for an owner who has left, an admin does not", func(t *testing.T) {
		c := cast()
		c.OwnerLeft = true
		if c.Access(boss) != chat.Owner || c.Access(admin) != chat.Manager {
			t.Errorf("access = %q, %q", c.Access(boss), c.Access(admin))
		}
	})
	t.Run("instructions are for editors and above", func(t *testing.T) {
		for by, want := range map[*identity.Actor]bool{&owner: true, &manager: true, &editor: true, &admin: true, &viewer: false, &capped: false, &stranger: false} {
			if got := cast().SeesInside(*by); got != want {
				t.Errorf("%s: %v", by.User, got)
			}
		}
	})
}

func TestParseRole(t *testing.T) {
	for s, want := range map[string]chat.Role{"viewer": chat.Viewer, "editor": chat.Editor, "manager": chat.Manager, "owner": chat.NoRole, "": chat.NoRole, "Viewer": chat.NoRole} {
		if got := chat.ParseRole(s); got != want {
			t.Errorf("ParseRole(%q) = %v", s, got)
		}
	}
}

// TestWhoMayDoWhat is the table of the contract: what each role may do, and what others are told.
func TestWhoMayDoWhat(t *testing.T) {
	status, visibility, ann := chat.StatusPublished, chat.VisibleToWorkspace, identity.UserID("vic")
	change := func(c chat.Changes) func(*testing.T, *chat.Template, identity.Actor) error {
		return func(t *testing.T, c2 *chat.Template, by identity.Actor) error { return c2.Change(by, nil, c, facts(t)) }
	}
	for what, tt := range map[string]struct {
		needs chat.Role
		do    func(*testing.T, *chat.Template, identity.Actor) error
	}{
		"change what it says":  {chat.Editor, change(chat.Changes{Greeting: new("Hi")})},
		"change nothing":       {chat.Editor, change(chat.Changes{})},
		"publish it":           {chat.Manager, change(chat.Changes{Status: &status})},
		"show it to everybody": {chat.Manager, change(chat.Changes{Visibility: &visibility})},
		"give it away":         {chat.Owner, change(chat.Changes{Owner: &ann})},
		"delete it":            {chat.Owner, func(_ *testing.T, c *chat.Template, by identity.Actor) error { return c.Delete(by, nil) }},
		"attach a workflow": {chat.Editor, func(t *testing.T, c *chat.Template, by identity.Actor) error {
			_, _, err := c.Attach(by, "workflow", registry(t))
			return err
		}},
		"detach a workflow": {chat.Editor, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			c.Workflows = []chat.Workflow{{ID: "workflow"}}
			return c.Detach(by, nil, "workflow")
		}},
		"add a member": {chat.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.Add(by, "sam", chat.Grant{User: "sam", Role: chat.Viewer})
			return err
		}},
		"change a member": {chat.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.ChangeMember(by, nil, "ina", chat.Viewer)
			return err
		}},
		"remove another member": {chat.Manager, func(_ *testing.T, c *chat.Template, by identity.Actor) error {
			_, err := c.Remove(by, nil, "ina")
			return err
		}},
	} {
		t.Run(what, func(t *testing.T) {
			for _, by := range []identity.Actor{owner, manager, editor, viewer, invited, stranger, admin, boss, capped, uncapped, nobody, outsider} {
				c := cast()
				var want error
				switch have := c.Access(by); {
				case have == chat.NoRole:
					want = chat.ErrNotFound
				case have < tt.needs:
					want = chat.ErrForbidden
				}
				if got := tt.do(t, c, by); got != want {
					t.Errorf("%s, a %q: %v, want %v", by.User, c.Access(by), got, want)
				}
				if want != nil {
					before := cast()
					before.Workflows = c.Workflows
					unchanged(t, c, before)
				}
				deleted := cast()
				deleted.DeletedAt = now
				if got := tt.do(t, deleted, by); got != chat.ErrNotFound {
					t.Errorf("%s, of a deleted one: %v", by.User, got)
				}
			}
		})
	}
}

func TestRevisions(t *testing.T) {
	other := revision.Match{6}
	for what, do := range map[string]func(c *chat.Template) error{
		"change": func(c *chat.Template) error {
			return c.Change(owner, other, chat.Changes{Greeting: new("x")}, facts(t))
		},
		"delete":        func(c *chat.Template) error { return c.Delete(owner, other) },
		"change member": func(c *chat.Template) error { _, err := c.ChangeMember(owner, other, "eve", chat.Viewer); return err },
		"remove member": func(c *chat.Template) error { _, err := c.Remove(owner, other, "eve"); return err },
		"detach": func(c *chat.Template) error {
			c.Workflows = []chat.Workflow{{ID: "workflow"}}
			return c.Detach(owner, other, "workflow")
		},
	} {
		t.Run(what+" is refused when another revision was meant", func(t *testing.T) { wantErr(t, do(cast()), revision.ErrMismatch) })
	}
}

func TestRestore(t *testing.T) {
	deleted := func() *chat.Template {
		c := cast()
		c.DeletedAt = now.Add(-chat.RestoreWithin)
		return c
	}
	for who, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"the owner": {owner, nil}, "an admin of the workspace": {admin, nil}, "the workspace's owner": {boss, nil},
		"a manager is not told that it was there": {manager, chat.ErrNotFound}, "nor is a viewer": {viewer, chat.ErrNotFound}, "nor a stranger": {stranger, chat.ErrNotFound},
		"nor the owner by a key for viewing": {capped, chat.ErrNotFound},
	} {
		t.Run(who, func(t *testing.T) {
			c := deleted()
			wantErr(t, c.Restore(tt.by), tt.want)
			if c.DeletedAt.IsZero() != (tt.want == nil) {
				t.Errorf("deleted at %v", c.DeletedAt)
			}
			if tt.want == nil {
				recorded(t, c, tt.by, "chat_template.restored")
			}
		})
	}
	t.Run("a live one stays as it is", func(t *testing.T) {
		c := cast()
		wantErr(t, c.Restore(owner), nil)
		unchanged(t, c, cast())
		wantErr(t, c.Restore(manager), chat.ErrForbidden)
	})
	t.Run("after 30 days it is gone", func(t *testing.T) {
		c := deleted()
		c.DeletedAt = c.DeletedAt.Add(-time.Microsecond)
		wantErr(t, c.Restore(owner), chat.ErrNotFound)
	})
}
