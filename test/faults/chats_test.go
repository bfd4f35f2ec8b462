package faults

import (
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// onChat prepares a call on a template with a member.
func onChat(call func(e *env, id chat.ID) error) func(*env) func() error {
	return func(e *env) func() error {
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		fixture.ChatMember(e.t, e.stores, e.team.Admin, template.ID, e.team.Peer.User, access.Editor)
		return func() error { return call(e, template.ID) }
	}
}

// withPrompt prepares a call with a prompt that a chat can use.
func withPrompt(call func(e *env, p chat.Prompt, id chat.ID) error) func(*env) func() error {
	return func(e *env) func() error {
		p := fixture.Template(e.t, e.stores, e.team.Admin, prompt.Draft{})
		fixture.Version(e.t, e.stores, e.team.Admin, p.ID, "one")
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		return func() error { return call(e, chat.Prompt{Template: p.ID, Ref: "v1"}, template.ID) }
	}
}

// guest is a person outside the workspace.
func guest(e *env) chat.Grant {
	return chat.Grant{Email: "guest@" + e.team.Workspace.Slug + ".example", Role: access.Viewer}
}

// onGuest prepares a call about a guest who was invited to a chat.
func onGuest(call func(e *env, id chat.ID, user identity.UserID) error) func(*env) func() error {
	return func(e *env) func() error {
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		addedAdded, err := e.chats.AddMember(e.ctx, e.team.Admin, e.org, template.ID, guest(e))
		require.NoError(e.t, err)
		return func() error { return call(e, template.ID, addedAdded.Member.User) }
	}
}

var chatCases = []useCase{
	{name: "List", prepare: onChat(func(e *env, _ chat.ID) error {
		_, err := e.chats.List(e.ctx, e.team.Admin, chat.Filter{}, ten)
		return err
	})},
	{name: "Create, with a prompt", prepare: withPrompt(func(e *env, p chat.Prompt, _ chat.ID) error {
		_, err := e.chats.Create(e.ctx, e.team.Admin, chat.Draft{Content: chat.Content{Name: "new", Prompt: p}})
		return err
	})},
	{name: "Get", prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.Get(e.ctx, e.team.Admin, id)
		return err
	})},
	{name: "Change, with a prompt", prepare: withPrompt(func(e *env, p chat.Prompt, id chat.ID) error {
		_, err := e.chats.Change(e.ctx, e.team.Admin, id, nil, chat.Changes{Prompt: &p})
		return err
	})},
	{name: "Change, with a new owner", prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.Change(e.ctx, e.team.Admin, id, nil, chat.Changes{Owner: &e.team.Peer.User})
		return err
	})},
	{name: "Delete", prepare: onChat(func(e *env, id chat.ID) error { return e.chats.Delete(e.ctx, e.team.Admin, id, nil) })},
	{name: "Restore", prepare: func(e *env) func() error {
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		fixture.ChangeChat(e.t, e.stores, e.team.Admin, template.ID,
			func(c *chat.Template) error { return c.Delete(e.team.Admin, nil) })
		return func() error { _, err := e.chats.Restore(e.ctx, e.team.Admin, template.ID); return err }
	}},
	{name: "AttachWorkflow", prepare: onChat(func(e *env, id chat.ID) error {
		_, _, _, err := e.chats.AttachWorkflow(e.ctx, e.team.Admin, id, "digest")
		return err
	})},
	{name: "DetachWorkflow", prepare: func(e *env) func() error {
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		if _, _, _, err := e.chats.AttachWorkflow(e.ctx, e.team.Admin, template.ID, "digest"); err != nil {
			e.t.Fatal(err)
		}
		return func() error { return e.chats.DetachWorkflow(e.ctx, e.team.Admin, template.ID, nil, "digest") }
	}},
	{name: "Members", prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.Members(e.ctx, e.team.Admin, id, ten)
		return err
	})},
	{name: "ChangeMember", prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.ChangeMember(e.ctx, e.team.Admin, id, e.team.Peer.User, nil, access.Manager)
		return err
	})},
	// The account is read after the membership is committed.
	{name: "AddMember, of the workspace", again: true, prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.AddMember(e.ctx, e.team.Admin, e.org, id,
			chat.Grant{Email: "viewer@" + e.team.Workspace.Slug + ".example", Role: access.Viewer})
		return err
	})},
	{name: "AddMember, from outside", prepare: onChat(func(e *env, id chat.ID) error {
		_, err := e.chats.AddMember(e.ctx, e.team.Admin, e.org, id, guest(e))
		return err
	})},
	{name: "RemoveMember, of the workspace", prepare: onChat(func(e *env, id chat.ID) error {
		return e.chats.RemoveMember(e.ctx, e.team.Admin, id, e.team.Peer.User, nil)
	})},
	{name: "RemoveMember, who is invited", prepare: onGuest(func(e *env, id chat.ID, user identity.UserID) error {
		return e.chats.RemoveMember(e.ctx, e.team.Admin, id, user, nil)
	})},
}
