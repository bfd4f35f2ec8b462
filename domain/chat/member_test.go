package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestAdd(t *testing.T) {
	t.Run("a manager adds a member of the workspace", func(t *testing.T) {
		c := cast()
		got, err := c.Add(manager, "sam", chat.Grant{User: "sam", Role: access.Manager})
		wantErr(t, err, nil)
		want := chat.Member{User: "sam", Role: access.Manager, InvitedBy: "max", Revision: 1, CreatedAt: now, UpdatedAt: now}
		if d := cmp.Diff(want, got); d != "" || c.Members["sam"] != got || c.MemberCount != 5 || c.Revision != 7 {
			t.Errorf("%d members (-want +got):\n%s", c.MemberCount, d)
		}
		recorded(t, c, manager, "chat_member.added")
	})
	for what, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
		g    chat.Grant
		want error
	}{
		"somebody who is one":                       {manager, "eve", chat.Grant{User: "eve", Role: access.Viewer}, chat.ErrAlreadyMember},
		"somebody who is invited":                   {manager, "ina", chat.Grant{User: "ina", Role: access.Viewer}, chat.ErrAlreadyMember},
		"the owner":                                 {manager, "ann", chat.Grant{User: "ann", Role: access.Viewer}, chat.ErrAlreadyMember},
		"a user outside the workspace":              {manager, "usr", chat.Grant{User: "usr", Role: access.Viewer}, chat.ErrUserNotInWorkspace},
		"an address from outside, by a manager":     {manager, "", chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrInvitationRole},
		"an address from outside, by an editor":     {editor, "", chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrForbidden},
		"an address from outside, by a stranger":    {stranger, "", chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrNotFound},
		"neither a user nor an address":             {manager, "", chat.Grant{Role: access.Viewer}, fault.ErrInvalid},
		"both":                                      {manager, "sam", chat.Grant{User: "sam", Email: "sam@example.com", Role: access.Viewer}, fault.ErrInvalid},
		"both, by somebody who may not add anybody": {viewer, "sam", chat.Grant{User: "sam", Email: "sam@example.com", Role: access.Viewer}, chat.ErrForbidden},
	} {
		t.Run(what, func(t *testing.T) {
			c := cast()
			_, err := c.Add(tt.by, tt.user, tt.g)
			wantErr(t, err, tt.want)
			unchanged(t, c, cast())
		})
	}
	t.Run("200 are enough", func(t *testing.T) {
		c := cast()
		c.MemberCount = chat.MaxMembers
		_, err := c.Add(owner, "sam", chat.Grant{User: "sam", Role: access.Viewer})
		wantErr(t, err, chat.ErrMemberLimit)
		_, err = c.Invite(admin, "usr", chat.Grant{Email: "x@example.com", Role: access.Viewer})
		wantErr(t, err, chat.ErrMemberLimit)
	})
}

func TestInvite(t *testing.T) {
	g := chat.Grant{Email: "Guest@Example.com", Role: access.Editor}
	t.Run("an admin of the workspace invites from outside", func(t *testing.T) {
		c := cast()
		got, err := c.Invite(admin, "usr", g)
		wantErr(t, err, nil)
		want := chat.Member{User: "usr", Email: g.Email, Role: access.Editor, Invited: true, InvitedBy: "ada", Revision: 1, CreatedAt: now, UpdatedAt: now}
		if d := cmp.Diff(want, got); d != "" || c.MemberCount != 5 {
			t.Errorf("%d members (-want +got):\n%s", c.MemberCount, d)
		}
		recorded(t, c, admin, "chat_member.invited")
		if text, err := json.Marshal(c.Recorded()[0].Data); err != nil || strings.Contains(string(text), "@") {
			t.Errorf("the event holds the address: %s, %v", text, err)
		}
	})
	t.Run("again, with another role", func(t *testing.T) {
		c := cast()
		got, err := c.Invite(boss, "ina", chat.Grant{Email: "ina@example.com", Role: access.Viewer})
		wantErr(t, err, nil)
		if got.Role != access.Viewer || got.Revision != 2 || got.InvitedBy != "bob" || !got.Invited || c.MemberCount != 4 {
			t.Errorf("member %+v of %d", got, c.MemberCount)
		}
		recorded(t, c, boss, "chat_member.invitation_renewed")
	})
	for who, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a manager": {manager, chat.ErrInvitationRole}, "the owner": {owner, chat.ErrInvitationRole}, "an editor": {editor, chat.ErrForbidden}, "a stranger": {stranger, chat.ErrNotFound}} {
		t.Run(who+" does not", func(t *testing.T) {
			c := cast()
			_, err := c.Invite(tt.by, "usr", g)
			wantErr(t, err, tt.want)
			unchanged(t, c, cast())
		})
	}
}

func TestAccept(t *testing.T) {
	for what, tt := range map[string]struct {
		by     identity.Actor
		before access.Role // the role that they have already
		after  access.Role
		left   int
	}{
		"somebody new takes the place":          {stranger, access.None, access.Manager, 4},
		"a lower role that they have is raised": {editor, access.Editor, access.Manager, 3},
		"an equal one stays":                    {manager, access.Manager, access.Manager, 3},
		"the owner, who was invited too, stays": {owner, access.None, access.None, 3},
		"by a user who had no access before":    {nobody, access.None, access.None, 3},
	} {
		t.Run(what, func(t *testing.T) {
			c := cast()
			c.Accept(tt.by, "ina")
			if m := c.Members[tt.by.User]; m.Role != tt.after || m.Invited || c.Members["ina"].Role != access.None || c.MemberCount != tt.left {
				t.Errorf("member %+v of %d", m, c.MemberCount)
			}
			recorded(t, c, tt.by, "chat_member.accepted")
		})
	}
	t.Run("a higher role is never lowered", func(t *testing.T) {
		c := cast()
		m := c.Members["ina"]
		m.Role = access.Viewer
		c.Members["ina"] = m
		c.Accept(editor, "ina")
		if m := c.Members["eve"]; m.Role != access.Editor || m.Revision != 1 {
			t.Errorf("member %+v", m)
		}
	})
	for what, user := range map[string]identity.UserID{"an active member is not a reserved place": "eve", "nor is an unknown user": "usr"} {
		t.Run(what, func(t *testing.T) {
			c := cast()
			c.Accept(stranger, user)
			c.Disinvite(stranger, user)
			unchanged(t, c, cast())
		})
	}
	t.Run("an invitation that ended leaves no member", func(t *testing.T) {
		c := cast()
		c.Disinvite(admin, "ina")
		if c.Members["ina"].Role != access.None || c.MemberCount != 3 {
			t.Errorf("members %+v", c.Members)
		}
		recorded(t, c, admin, "chat_member.removed")
	})
}

func TestChangeMember(t *testing.T) {
	c := cast()
	got, err := c.ChangeMember(manager, revision.Match{1}, "eve", access.Manager)
	wantErr(t, err, nil)
	if got.Role != access.Manager || got.Revision != 2 || c.Members["eve"] != got {
		t.Errorf("member %+v", got)
	}
	recorded(t, c, manager, "chat_member.updated")
	same := cast()
	got, err = same.ChangeMember(manager, nil, "eve", access.Editor)
	wantErr(t, err, nil)
	if got.Revision != 1 {
		t.Errorf("member %+v", got)
	}
	unchanged(t, same, cast())
	_, err = same.ChangeMember(manager, nil, "ann", access.Viewer)
	wantErr(t, err, chat.ErrOwnerStays)
	_, err = same.ChangeMember(manager, nil, "sam", access.Viewer)
	wantErr(t, err, chat.ErrMemberNotFound)
}

func TestRemove(t *testing.T) {
	for what, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
		want error
	}{
		"a manager removes another":           {manager, "eve", nil},
		"a viewer leaves":                     {viewer, "vic", nil},
		"an editor leaves":                    {editor, "eve", nil},
		"an editor cannot remove anyone else": {editor, "vic", chat.ErrForbidden},
		"the owner stays":                     {owner, "ann", chat.ErrOwnerStays},
		"also when a manager wants it":        {manager, "ann", chat.ErrOwnerStays},
		"a key for viewing leaves not":        {with(viewer, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer }), "vic", chat.ErrForbidden},
		"who is none cannot be removed":       {manager, "sam", chat.ErrMemberNotFound},
		"a stranger is told nothing":          {stranger, "sam", chat.ErrNotFound},
		"who is invited can be removed":       {manager, "ina", nil},
		"an admin who is none leaves not":     {admin, "ada", chat.ErrMemberNotFound},
	} {
		t.Run(what, func(t *testing.T) {
			c := cast()
			got, err := c.Remove(tt.by, nil, tt.user)
			wantErr(t, err, tt.want)
			if tt.want != nil {
				unchanged(t, c, cast())
				return
			}
			if got != cast().Members[tt.user] || c.Members[tt.user].Role != access.None || c.MemberCount != 3 {
				t.Errorf("removed %+v, %d left", got, c.MemberCount)
			}
			recorded(t, c, tt.by, "chat_member.removed")
		})
	}
}

func TestWorkflows(t *testing.T) {
	c := cast()
	w, attached, err := c.Attach(editor, "workflow", registry(t))
	wantErr(t, err, nil)
	if !attached || w != (chat.Workflow{ID: "workflow", AttachedBy: "eve", AttachedAt: now}) || c.Revision != 8 {
		t.Errorf("attached %+v, %v, revision %d", w, attached, c.Revision)
	}
	again, attached, err := c.Attach(owner, "workflow", &chat.Registry{})
	wantErr(t, err, nil)
	if attached || again != w || len(c.Workflows) != 1 || c.Revision != 8 {
		t.Errorf("attached again: %+v, %v", again, attached)
	}
	recorded(t, c, editor, "chat_workflow.attached")

	for id, want := range map[string]error{"old-workflow": nil, "off-workflow": chat.ErrUnknownWorkflow, "agent": chat.ErrUnknownWorkflow, "": chat.ErrUnknownWorkflow} {
		_, _, err := cast().Attach(editor, id, registry(t))
		wantErr(t, err, want)
	}
	c.Workflows = repeated(chat.MaxWorkflows, func(int) chat.Workflow { return chat.Workflow{ID: "another"} })
	_, _, err = c.Attach(editor, "workflow", registry(t))
	wantErr(t, err, chat.ErrWorkflowLimit)

	c = cast()
	wantErr(t, c.Detach(editor, nil, "workflow"), chat.ErrWorkflowNotAttached)
	c.Workflows = []chat.Workflow{{ID: "a"}, {ID: "workflow"}, {ID: "b"}}
	wantErr(t, c.Detach(editor, revision.Match{7}, "workflow"), nil)
	if len(c.Workflows) != 2 || c.Workflows[1].ID != "b" || c.Revision != 8 {
		t.Errorf("workflows %+v", c.Workflows)
	}
	recorded(t, c, editor, "chat_workflow.detached")
}
