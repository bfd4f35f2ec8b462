package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func listChatMembers(r *request) (reply, error) {
	return listing(r, toChatMember, func(q page.Query) (chat.MemberPage, error) {
		return r.Chats.Members(r.Context(), r.by, chatID(r), q)
	})
}

func createChatMember(r *request) (reply, error) {
	in, err := decode[openapi.ChatMemberCreate](r)
	if err != nil {
		return reply{}, err
	}
	grant := chat.Grant{User: identity.UserID(in.UserID), Email: in.Email, Role: access.Parse(string(in.Role))}
	added, err := r.Chats.AddMember(r.Context(), r.by, observation(r.Request).org, chatID(r), grant)
	if err != nil {
		return reply{}, err
	}
	body := deferred(func() any { return toChatMemberAdded(added) })
	out := created("/api/chat-templates/"+string(chatID(r))+"/members/"+string(added.Member.User), body)
	if added.Again {
		out = ok(body)
	}
	if added.Invitation != nil {
		out.reveals = string(added.Invitation.ID)
	}
	return out.withRevision(added.Member.Revision), nil
}

func updateChatMember(r *request) (reply, error) {
	in, err := decode[openapi.ChatMemberPatch](r)
	if err != nil {
		return reply{}, err
	}
	m, err := r.Chats.ChangeMember(r.Context(), r.by, chatID(r), granteeID(r), r.match, access.Parse(string(in.Role)))
	if err != nil {
		return reply{}, err
	}
	return ok(toChatMember(&m)).withRevision(m.Revision), nil
}

func deleteChatMember(r *request) (reply, error) {
	return noContent, r.Chats.RemoveMember(r.Context(), r.by, chatID(r), granteeID(r), r.match)
}

func changeChatMembers(r *request) (reply, error) {
	in, err := decode[openapi.ChatMemberChanges](r)
	if err != nil {
		return reply{}, err
	}
	changed, err := r.Chats.ChangeMembers(r.Context(), r.by, chatID(r), convert.Slice(in.Changes, toMemberGrant))
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ChatMembersChanged{Data: convert.Slice(changed, toMemberChanged)}), nil
}
