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
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAdd(t *testing.T) {
	t.Run("a manager adds a member of the workspace", func(t *testing.T) {
		c := sharedTemplate()
		got, err := c.Add(manager, party("sam"), chat.Grant{User: "sam", Role: access.Manager})
		require.NoError(t, err)
		want := chat.Member{User: "sam", Role: access.Manager, InvitedBy: "max", Revision: 1, CreatedAt: now,
			UpdatedAt: now}
		if d := cmp.Diff(want, got); d != "" || c.Revision != 7 {
			t.Errorf("revision %d (-want +got):\n%s", c.Revision, d)
		}
		toSave(t, c, want)
		recorded(t, c, manager, "chat_member.added")
	})
	for label, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
		g    chat.Grant
		want error
	}{
		"somebody who is one": {manager, "eve", chat.Grant{User: "eve", Role: access.Viewer},
			chat.ErrAlreadyMember},
		"somebody who is invited": {manager, "ina", chat.Grant{User: "ina", Role: access.Viewer},
			chat.ErrAlreadyMember},
		"the owner": {manager, "ann", chat.Grant{User: "ann", Role: access.Viewer},
			chat.ErrAlreadyMember},
		"a user outside the workspace": {manager, "usr", chat.Grant{User: "usr", Role: access.Viewer},
			chat.ErrUserNotInWorkspace},
		"an address from outside, by a manager": {manager, "",
			chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrInvitationRole},
		"an address from outside, by an editor": {editor, "",
			chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrForbidden},
		"an address from outside, by a stranger": {stranger, "",
			chat.Grant{Email: "x@example.com", Role: access.Viewer}, chat.ErrNotFound},
		"neither a user nor an address": {manager, "", chat.Grant{Role: access.Viewer}, fault.ErrInvalid},
		"both": {manager, "sam",
			chat.Grant{User: "sam", Email: "sam@example.com", Role: access.Viewer}, fault.ErrInvalid},
		"both, by somebody who may not add anybody": {viewer, "sam",
			chat.Grant{User: "sam", Email: "sam@example.com", Role: access.Viewer}, chat.ErrForbidden},
	} {
		t.Run(label, func(t *testing.T) {
			c := sharedTemplate()
			_, err := c.Add(tt.by, party(tt.user), tt.g)
			require.ErrorIs(t, err, tt.want)
			unchanged(t, c, sharedTemplate())
		})
	}
	t.Run("200 are enough", func(t *testing.T) {
		c := sharedTemplate()
		full := func(user identity.UserID) chat.Party {
			p := party(user)
			p.Members = chat.MaxMembers
			return p
		}
		_, err := c.Add(owner, full("sam"), chat.Grant{User: "sam", Role: access.Viewer})
		require.ErrorIs(t, err, chat.ErrMemberLimit)
		_, err = c.Invite(admin, full("usr"), chat.Grant{Email: "x@example.com", Role: access.Viewer})
		require.ErrorIs(t, err, chat.ErrMemberLimit)
	})
}

func TestInvite(t *testing.T) {
	g := chat.Grant{Email: "Guest@Example.com", Role: access.Editor}
	t.Run("an admin of the workspace invites from outside", func(t *testing.T) {
		c := sharedTemplate()
		got, err := c.Invite(admin, party("usr"), g)
		require.NoError(t, err)
		want := chat.Member{User: "usr", Email: g.Email, Role: access.Editor, Invited: true, InvitedBy: "ada",
			Revision: 1, CreatedAt: now, UpdatedAt: now}
		assert.NoDiff(t, "what is returned", cmp.Diff(want, got))
		toSave(t, c, want)
		recorded(t, c, admin, "chat_member.invited")
		if text, err := json.Marshal(c.Recorded()[0].Data); err != nil || strings.Contains(string(text), "@") {
			t.Errorf("the event holds the address: %s, %v", text, err)
		}
	})
	t.Run("again, with another role", func(t *testing.T) {
		c := sharedTemplate()
		got, err := c.Invite(boss, party("ina"), chat.Grant{Email: "ina@example.com", Role: access.Viewer})
		require.NoError(t, err)
		if got.Role != access.Viewer || got.Revision != 2 || got.InvitedBy != "bob" || !got.Invited {
			t.Errorf("member %+v", got)
		}
		toSave(t, c, got)
		recorded(t, c, boss, "chat_member.invitation_renewed")
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a manager": {manager, chat.ErrInvitationRole}, "the owner": {owner, chat.ErrInvitationRole},
		"an editor": {editor, chat.ErrForbidden}, "a stranger": {stranger, chat.ErrNotFound}} {
		t.Run(name+" does not", func(t *testing.T) {
			c := sharedTemplate()
			_, err := c.Invite(tt.by, party("usr"), g)
			require.ErrorIs(t, err, tt.want)
			unchanged(t, c, sharedTemplate())
		})
	}
}

func TestAccept(t *testing.T) {
	for label, tt := range map[string]struct {
		by   identity.Actor
		want []chat.Member // besides the place that is given up
	}{
		"somebody new takes the place": {stranger,
			[]chat.Member{{User: "sam", Role: access.Manager, Revision: 1, CreatedAt: now, UpdatedAt: now}}},
		"a lower role that they have is raised": {editor,
			[]chat.Member{{User: "eve", Role: access.Manager, Revision: 2, UpdatedAt: now}}},
		"an equal one stays":                    {manager, nil},
		"the owner, who was invited too, stays": {owner, nil},
		"by a user who had no access before":    {nobody, nil},
	} {
		t.Run(label, func(t *testing.T) {
			c := sharedTemplate()
			c.Accept(tt.by, party("ina"), party(tt.by.User))
			toSave(t, c, append([]chat.Member{{User: "ina"}}, tt.want...)...)
			recorded(t, c, tt.by, "chat_member.accepted")
		})
	}
	t.Run("a higher role is never lowered", func(t *testing.T) {
		c := sharedTemplate()
		lower := party("ina")
		lower.Member.Role = access.Viewer
		c.Accept(editor, lower, party("eve"))
		toSave(t, c, chat.Member{User: "ina"})
	})
	for label, user := range map[string]identity.UserID{"an active member is not a reserved place": "eve",
		"nor is an unknown user": "usr"} {
		t.Run(label, func(t *testing.T) {
			c := sharedTemplate()
			c.Accept(stranger, party(user), party("sam"))
			c.Disinvite(stranger, party(user))
			unchanged(t, c, sharedTemplate())
		})
	}
	t.Run("an invitation that ended leaves no member", func(t *testing.T) {
		c := sharedTemplate()
		c.Disinvite(admin, party("ina"))
		toSave(t, c, chat.Member{User: "ina"})
		recorded(t, c, admin, "chat_member.removed")
	})
}

func TestChangeMember(t *testing.T) {
	c := sharedTemplate()
	got, err := c.ChangeMember(manager, revision.Match{1}, party("eve"), access.Manager)
	require.NoError(t, err)
	if got.Role != access.Manager || got.Revision != 2 {
		t.Errorf("member %+v", got)
	}
	toSave(t, c, got)
	recorded(t, c, manager, "chat_member.updated")
	same := sharedTemplate()
	got, err = same.ChangeMember(manager, nil, party("eve"), access.Editor)
	require.NoError(t, err)
	if got.Revision != 1 {
		t.Errorf("member %+v", got)
	}
	unchanged(t, same, sharedTemplate())
	_, err = same.ChangeMember(manager, nil, party("ann"), access.Viewer)
	require.ErrorIs(t, err, chat.ErrOwnerStays)
	_, err = same.ChangeMember(manager, nil, party("sam"), access.Viewer)
	require.ErrorIs(t, err, chat.ErrMemberNotFound)
}

func TestRemove(t *testing.T) {
	for label, tt := range map[string]struct {
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
		"a key for viewing leaves not": {
			with(viewer, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer }), "vic",
			chat.ErrForbidden},
		"who is none cannot be removed":   {manager, "sam", chat.ErrMemberNotFound},
		"a stranger is told nothing":      {stranger, "sam", chat.ErrNotFound},
		"who is invited can be removed":   {manager, "ina", nil},
		"an admin who is none leaves not": {admin, "ada", chat.ErrMemberNotFound},
	} {
		t.Run(label, func(t *testing.T) {
			c := sharedTemplate()
			got, err := c.Remove(tt.by, nil, party(tt.user))
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				unchanged(t, c, sharedTemplate())
				return
			}
			assert.Equal(t, "removed", got, members()[tt.user])
			toSave(t, c, chat.Member{User: tt.user})
			recorded(t, c, tt.by, "chat_member.removed")
		})
	}
}

func TestWorkflows(t *testing.T) {
	c := sharedTemplate()
	w, isAttached, err := c.Attach(editor, "workflow", registry(t))
	require.NoError(t, err)
	if !isAttached || w != (chat.Workflow{ID: "workflow", AttachedBy: "eve", AttachedAt: now}) || c.Revision != 8 {
		t.Errorf("attached %+v, %v, revision %d", w, isAttached, c.Revision)
	}
	second, isAttached, err := c.Attach(owner, "workflow", &chat.Registry{})
	require.NoError(t, err)
	if isAttached || second != w || len(c.Workflows) != 1 || c.Revision != 8 {
		t.Errorf("attached again: %+v, %v", second, isAttached)
	}
	recorded(t, c, editor, "chat_workflow.attached")

	for id, want := range map[string]error{"old-workflow": nil, "off-workflow": chat.ErrUnknownWorkflow,
		"agent": chat.ErrUnknownWorkflow, "": chat.ErrUnknownWorkflow} {
		_, _, err := sharedTemplate().Attach(editor, id, registry(t))
		require.ErrorIs(t, err, want)
	}
	c.Workflows = repeated(chat.MaxWorkflows, func(int) chat.Workflow { return chat.Workflow{ID: "another"} })
	_, _, err = c.Attach(editor, "workflow", registry(t))
	require.ErrorIs(t, err, chat.ErrWorkflowLimit)

	c = sharedTemplate()
	require.ErrorIs(t, c.Detach(editor, nil, "workflow"), chat.ErrWorkflowNotAttached)
	_, err = c.Workflow("workflow")
	require.ErrorIs(t, err, chat.ErrWorkflowNotAttached)
	c.Workflows = []chat.Workflow{{ID: "a"}, {ID: "workflow"}, {ID: "b"}}
	found, err := c.Workflow("workflow")
	require.NoError(t, err)
	assert.Equal(t, "workflow", found, chat.Workflow{ID: "workflow"})
	require.NoError(t, c.Detach(editor, revision.Match{7}, "workflow"))
	if len(c.Workflows) != 2 || c.Workflows[1].ID != "b" || c.Revision != 8 {
		t.Errorf("workflows %+v", c.Workflows)
	}
	recorded(t, c, editor, "chat_workflow.detached")
}
