package chats

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func listChatMembers(r *server.Call) (server.Reply, error) {
	return server.List(r, toChatMember, func(q page.Query) (chat.MemberPage, error) {
		return r.Chats.Members(r.Context(), r.By, chatID(r), q)
	})
}

// createChatMember responds with 200 instead of 201 if the user is a member already.
func createChatMember(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatMemberCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	grant := chat.Grant{User: identity.UserID(in.UserID), Email: in.Email, Role: access.Parse(string(in.Role))}
	addition, err := r.Chats.AddMember(r.Context(), r.By, server.Observed(r.Request).Org, chatID(r), grant)
	if err != nil {
		return server.Reply{}, err
	}
	body := server.Deferred(func() any { return toChatMemberAdded(addition) })
	out := server.Created("/api/chat-templates/"+string(chatID(r))+"/members/"+string(addition.Member.User), body)
	if addition.Again {
		out = server.OK(body)
	}
	if addition.Invitation != nil {
		out.Reveals = string(addition.Invitation.ID)
	}
	return out.WithRevision(addition.Member.Revision), nil
}

func getChatMember(r *server.Call) (server.Reply, error) {
	m, err := r.Chats.Member(r.Context(), r.By, chatID(r), server.GranteeID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toChatMember(&m)).WithRevision(m.Revision), nil
}

func updateChatMember(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatMemberPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	m, err := r.Chats.ChangeMember(
		r.Context(), r.By, chatID(r), server.GranteeID(r), r.Match, access.Parse(string(in.Role)),
	)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toChatMember(&m)).WithRevision(m.Revision), nil
}

func deleteChatMember(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Chats.RemoveMember(r.Context(), r.By, chatID(r), server.GranteeID(r), r.Match)
}

func changeChatMembers(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatMemberChanges](r)
	if err != nil {
		return server.Reply{}, err
	}
	changes, err := r.Chats.ChangeMembers(r.Context(), r.By, chatID(r), convert.Slice(in.Changes, toMemberGrant))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ChatMembersChanged{Data: convert.Slice(changes, toMemberChanged)}), nil
}
