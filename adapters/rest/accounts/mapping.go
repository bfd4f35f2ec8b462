package accounts

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

func toMe(r *server.Call, u *account.User, memberships []account.Membership) openapi.Me {
	org := server.Observed(r.Request).Org
	me := openapi.Me{
		User:                 convert.ToUser(r.By, u),
		Org:                  openapi.Org{ID: string(org.ID), Slug: org.Slug, Name: org.Name},
		Workspace:            nullable.NewNullNullable[openapi.Workspace](),
		Workspaces:           convert.Slice(newest(memberships, maxWorkspacesOfMe), server.MapFor(r, toMembership)),
		Role:                 openapi.OrNull(openapi.WorkspaceRole(r.By.Role.String())),
		Permissions:          account.Permissions(r.By),
		SecondFactorRequired: r.SessionPolicy().Check(r.By) != nil,
		FailingWebhooks:      nullable.NewNullNullable[int](),
		Limits: openapi.Limits{
			RequestsPerMinute: r.API.Config.RateLimit.PerMinute,
			Burst:             r.API.Config.RateLimit.Burst,
		},
		Revision:  u.Revision,
		CreatedAt: openapi.Time(u.CreatedAt),
		UpdatedAt: openapi.Time(u.UpdatedAt),
	}
	for i := range memberships {
		if m := &memberships[i]; m.Workspace.ID == r.By.Workspace {
			me.Workspace = nullable.NewNullableWithValue(toMembership(r, m))
		}
	}
	return me
}

// maxWorkspacesOfMe is how many workspaces the caller's profile contains; GET /api/workspaces lists all.
const maxWorkspacesOfMe = 100

// newest returns at most n of memberships that are sorted oldest first, newest first.
func newest(memberships []account.Membership, n int) []account.Membership {
	last := slices.Clone(memberships[max(0, len(memberships)-n):])
	slices.Reverse(last)
	return last
}

func toKey(k *account.Key, now time.Time) openapi.APIKey {
	status := openapi.APIKeyStatusActive
	switch {
	case !k.RevokedAt.IsZero():
		status = openapi.APIKeyStatusRevoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		status = openapi.APIKeyStatusExpired
	case !k.Live(now):
		status = openapi.APIKeyStatusSuspended
	}
	kind := openapi.APIKeyKindPersonal
	if k.Service {
		kind = openapi.APIKeyKindService
	}
	return openapi.APIKey{
		Kind:        kind,
		ID:          string(k.ID),
		Name:        k.Name,
		UserID:      string(k.User),
		RoleCeiling: openapi.WorkspaceRole(k.Ceiling.String()),
		Scopes:      toScopes(k.Scopes),
		Hint:        k.Hint,
		Status:      status,
		ExpiresAt:   convert.OrNullTime(k.ExpiresAt),
		LastUsedAt:  convert.OrNullTime(k.LastUsedAt),
		RevokedAt:   convert.OrNullTime(k.RevokedAt),

		AllowedAddresses: append([]string{}, k.Networks.List()...),
		LastUsedAddress:  openapi.OrNull(k.LastUsedBy),
		RequestsByDay:    k.Requests,
		CreatedBy:        string(k.CreatedBy),
		KeptBy:           string(k.KeptBy),
		Revision:         k.Revision,
		CreatedAt:        openapi.Time(k.CreatedAt),
		UpdatedAt:        openapi.Time(k.UpdatedAt),
	}
}

func toScopes(s identity.Scopes) []openapi.APIKeyScope {
	names := s.Names()
	out := make([]openapi.APIKeyScope, len(names))
	for i, name := range names {
		out[i] = openapi.APIKeyScope(name)
	}
	return out
}

// keyLimits returns a new key's scopes and networks.
func keyLimits(in *openapi.APIKeyCreate) (identity.Scopes, identity.Networks, error) {
	names := make([]string, len(in.Scopes))
	for i, name := range in.Scopes {
		names[i] = string(name)
	}
	scopes, _ := identity.NewScopes(names) // the contract accepts only names of scopes
	networks, ok := identity.NewNetworks(in.AllowedAddresses)
	if !ok {
		return "", "", fault.InField("/allowed_addresses", "invalid_format",
			"Must be IP addresses, or networks such as 203.0.113.0/24.")
	}
	return scopes, networks, nil
}

func toKeyCreated(k *account.Key, token account.Token, now time.Time) openapi.APIKeyCreated {
	s := toKey(k, now)
	return openapi.APIKeyCreated{
		Kind:        s.Kind,
		ID:          s.ID,
		Name:        s.Name,
		UserID:      s.UserID,
		RoleCeiling: s.RoleCeiling,
		Scopes:      s.Scopes,
		Hint:        s.Hint,
		Status:      s.Status,
		ExpiresAt:   s.ExpiresAt,
		LastUsedAt:  s.LastUsedAt,
		RevokedAt:   s.RevokedAt,
		CreatedBy:   s.CreatedBy,
		Revision:    s.Revision,
		CreatedAt:   s.CreatedAt,
		UpdatedAt:   s.UpdatedAt,
		Token:       token.Reveal(),

		AllowedAddresses: s.AllowedAddresses,
		LastUsedAddress:  s.LastUsedAddress,
	}
}
