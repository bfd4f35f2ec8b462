package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
)

func (a *API) listChatMembers(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	found, err := r.Chats.Members(r.Context(), r.by, chatID(r), q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.ChatMemberList{Data: each(found.Items, toChatMember), NextCursor: next}), err
}

func (a *API) createChatMember(r *request) (reply, error) {
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
	return out.at(added.Member.Revision), nil
}

func toChatMemberAdded(added *chats.Added) openapi.ChatMemberAdded {
	m := toChatMember(&added.Member)
	out := openapi.ChatMemberAdded{
		UserID:    m.UserID,
		Email:     m.Email,
		Name:      m.Name,
		Role:      m.Role,
		Status:    m.Status,
		InvitedBy: m.InvitedBy,
		Revision:  m.Revision,
		CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt,
	}
	if added.Invitation != nil {
		out.AcceptURL, out.Mailed = added.AcceptURL, new(added.Mailed)
	}
	return out
}

func (a *API) updateChatMember(r *request) (reply, error) {
	in, err := decode[openapi.ChatMemberPatch](r)
	if err != nil {
		return reply{}, err
	}
	m, err := r.Chats.ChangeMember(r.Context(), r.by, chatID(r), memberID(r), r.match, access.Parse(string(in.Role)))
	if err != nil {
		return reply{}, err
	}
	return ok(toChatMember(&m)).at(m.Revision), nil
}

func (a *API) deleteChatMember(r *request) (reply, error) {
	return noContent, r.Chats.RemoveMember(r.Context(), r.by, chatID(r), memberID(r), r.match)
}

func toChatMember(m *chat.Member) openapi.ChatMember {
	status := openapi.ChatMemberStatusActive
	if m.Invited {
		status = openapi.ChatMemberStatusInvited
	}
	return openapi.ChatMember{
		UserID: string(m.User), Email: openapi.OrNull(m.Email), Name: m.Name, Role: openapi.ChatRole(m.Role.String()), Status: status, InvitedBy: openapi.OrNull(string(m.InvitedBy)),
		Revision: m.Revision, CreatedAt: openapi.Time(m.CreatedAt), UpdatedAt: openapi.Time(m.UpdatedAt),
	}
}
