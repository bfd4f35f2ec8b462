package accounts

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/session"
)

func getPersonAccess(r *server.Call) (server.Reply, error) {
	access, err := r.Accounts.AccessOf(r.Context(), r.By, r.SessionPolicy(), server.MemberID(r))
	return personAccess(r, access, err)
}

func getMyAccess(r *server.Call) (server.Reply, error) {
	access, err := r.Accounts.OwnAccess(r.Context(), r.By, r.SessionPolicy())
	return personAccess(r, access, err)
}

func personAccess(r *server.Call, a *accounts.PersonAccess, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PersonAccess{
		UserID:          string(a.User.ID),
		Operator:        a.User.Operator,
		OperatorSources: toRoleSources(a.User.OperatorSources()),
		Workspaces:      convert.Slice(a.Workspaces, server.MapFor(r, toWorkspaceAccess)),
		Sessions:        convert.Slice(a.Sessions, server.MapFor(r, toHeldSession)),
		Passkeys:        convert.Slice(a.Passkeys, toHeldPasskey),
		Truncated:       a.Truncated,
	}), nil
}

func getMemberAccess(r *server.Call) (server.Reply, error) {
	a, err := r.Accounts.AccessOfMember(r.Context(), r.By, server.WorkspaceID(r), server.MemberID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.MemberAccess{
		UserID:    string(a.User.ID),
		Workspace: toWorkspaceAccess(r, &a.Workspaces[0]),
		Truncated: a.Truncated,
	}), nil
}

// toWorkspaceAccess maps the powers in a workspace, with the status of keys as of the request.
func toWorkspaceAccess(r *server.Call, a *account.WorkspaceAccess) openapi.WorkspaceAccess {
	return openapi.WorkspaceAccess{
		WorkspaceID: string(a.Workspace.ID),
		Slug:        a.Workspace.Slug,
		Name:        a.Workspace.Name,
		Role:        openapi.WorkspaceRole(a.Member.Role.String()),
		Sources:     toRoleSources(a.Sources()),
		APIKeys: convert.Slice(a.Keys, func(k *account.Key) openapi.HeldKey {
			key := toKey(k, r.By.At)
			return openapi.HeldKey{
				ID:          key.ID,
				Kind:        key.Kind,
				Name:        key.Name,
				RoleCeiling: key.RoleCeiling,
				Hint:        key.Hint,
				Status:      key.Status,
				CreatedBy:   openapi.OrNull(string(k.CreatedBy)),
				ExpiresAt:   key.ExpiresAt,
				LastUsedAt:  key.LastUsedAt,
			}
		}),
		Webhooks:       toHeldEndpoints(a.Endpoints, account.Webhook),
		ReplyEndpoints: toHeldEndpoints(a.Endpoints, account.ReplyEndpoint),
		Shares:         convert.Slice(a.Shares, toHeldShare),
	}
}

func toRoleSources(sources []account.RoleSource) []openapi.HeldRole {
	return convert.Slice(sources, func(s *account.RoleSource) openapi.HeldRole {
		return openapi.HeldRole{
			Kind:    openapi.HeldRoleKind(s.Kind),
			Role:    openapi.OrNull(s.Role.String()),
			GroupID: openapi.OrNull(string(s.Group)),
			Name:    openapi.OrNull(s.Name),
			Issuer:  openapi.OrNull(s.Issuer),
		}
	})
}

func toHeldEndpoints(all []account.NamedEndpoint, kind account.EndpointKind) []openapi.HeldEndpoint {
	endpoints := []openapi.HeldEndpoint{}
	for _, e := range all {
		if e.Kind == kind {
			endpoints = append(endpoints, openapi.HeldEndpoint{ID: e.ID, Name: e.Name, OwnerID: string(e.Owner)})
		}
	}
	return endpoints
}

func toHeldShare(s *account.HeldShare) openapi.HeldShare {
	return openapi.HeldShare{
		Kind:      openapi.HeldShareKind(s.Kind),
		ID:        s.ID,
		Name:      s.Name,
		Role:      s.Role.String(),
		GroupID:   openapi.OrNull(string(s.Group)),
		ExpiresAt: convert.OrNullTime(s.ExpiresAt),
	}
}

func toHeldSession(r *server.Call, s *session.Session) openapi.HeldSession {
	return openapi.HeldSession{
		ID:         string(s.ID),
		Source:     openapi.SessionSource(s.Source),
		APIKeyID:   openapi.OrNull(string(s.Key)),
		UserAgent:  s.Agent,
		CreatedAt:  openapi.Time(s.CreatedAt),
		LastSeenAt: openapi.Time(s.LastSeenAt),
		ExpiresAt:  openapi.Time(s.EndsAt(r.SessionPolicy())),
	}
}

func toHeldPasskey(k *account.Passkey) openapi.HeldPasskey {
	return openapi.HeldPasskey{
		ID:         string(k.ID),
		Host:       k.Host,
		Synced:     k.Synced,
		CreatedAt:  openapi.Time(k.CreatedAt),
		LastUsedAt: convert.OrNullTime(k.LastUsedAt),
	}
}
