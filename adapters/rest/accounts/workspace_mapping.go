package accounts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// toMembership is a workspace as the caller sees it.
func toMembership(r *server.Call, m *account.Membership) openapi.Workspace {
	w := m.Workspace
	return openapi.Workspace{
		ID:        string(w.ID),
		Slug:      w.Slug,
		Name:      w.Name,
		MyRole:    openapi.WorkspaceRole(min(m.Role, r.By.Ceiling).String()),
		Revision:  w.Revision,
		CreatedAt: openapi.Time(w.CreatedAt),
		UpdatedAt: openapi.Time(w.UpdatedAt),
	}
}

func toMember(m *account.Member) openapi.Member {
	kind := openapi.MemberKindPerson
	if m.Service {
		kind = openapi.MemberKindService
	}
	return openapi.Member{
		UserID:    string(m.User),
		Kind:      kind,
		Email:     openapi.OrNull(m.Email),
		Name:      m.Name,
		Role:      openapi.WorkspaceRole(m.Role.String()),
		Revision:  m.Revision,
		CreatedAt: openapi.Time(m.CreatedAt),
		UpdatedAt: openapi.Time(m.UpdatedAt),
	}
}

func toRoleLoss(l account.Loss) openapi.RoleLoss {
	return openapi.RoleLoss{
		ServiceKeysEnded:     idsOf(l.Ended),
		ServiceKeysKept:      idsOf(l.Kept),
		ServiceKeysSuspended: idsOf(l.Suspended),

		WebhooksOwnerless:       l.OwnerlessIDs(account.Webhook),
		ReplyEndpointsOwnerless: l.OwnerlessIDs(account.ReplyEndpoint),
	}
}

func idsOf(keys []*account.Key) []string {
	return convert.Slice(keys, func(k **account.Key) string { return string((*k).ID) })
}

func toInvitationCreated(invitation *accounts.Invited, now time.Time) openapi.InvitationCreated {
	i := toInvitation(invitation.Invitation, now)
	return openapi.InvitationCreated{
		AcceptURL: invitation.AcceptURL,
		CreatedAt: i.CreatedAt,
		Email:     i.Email,
		ExpiresAt: i.ExpiresAt,
		GroupIds:  i.GroupIds,
		ID:        i.ID,
		InvitedBy: i.InvitedBy,
		Mailed:    invitation.Mailed,
		Revision:  i.Revision,
		Role:      i.Role,
		Status:    i.Status,
		UpdatedAt: i.UpdatedAt,
	}
}

func toInvitation(i *account.Invitation, now time.Time) openapi.Invitation {
	status := openapi.InvitationStatusPending
	if i.Expired(now) {
		status = openapi.InvitationStatusExpired
	}
	return openapi.Invitation{
		ID:        string(i.ID),
		Email:     i.Email,
		Role:      openapi.WorkspaceRole(i.Role.String()),
		GroupIds:  fromGroupIDs(i.Groups),
		InvitedBy: string(i.InvitedBy),
		Status:    status,
		ExpiresAt: openapi.Time(i.ExpiresAt),
		Revision:  i.Revision,
		CreatedAt: openapi.Time(i.CreatedAt),
		UpdatedAt: openapi.Time(i.UpdatedAt),
	}
}

func toGroup(g *account.Group) openapi.Group {
	return openapi.Group{
		ID:         string(g.ID),
		Name:       g.Name,
		Role:       openapi.OrNull(openapi.WorkspaceRole(g.Role.String())),
		ExternalID: openapi.OrNull(g.External),
		Size:       g.Size,
		CreatedBy:  openapi.OrNull(string(g.CreatedBy)),
		Revision:   g.Revision,
		CreatedAt:  openapi.Time(g.CreatedAt),
		UpdatedAt:  openapi.Time(g.UpdatedAt),
	}
}

// toGroupIDs returns the ids of groups. A malformed one identifies none.
func toGroupIDs(texts []string) []identity.UserID {
	ids := make([]identity.UserID, len(texts))
	for i, text := range texts {
		if id.Valid(identity.GroupPrefix, text) {
			ids[i] = identity.UserID(text)
		}
	}
	return ids
}

func fromGroupIDs(ids []identity.UserID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}
