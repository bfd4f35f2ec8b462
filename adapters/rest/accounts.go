package rest

import (
	"net/http"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

func (a *API) accountOperations() []operation {
	return []operation{
		{http.MethodGet, "/api/me", query(a.getMe)},
		{http.MethodPatch, "/api/me", command(a.updateMe)},
		{http.MethodGet, "/api/api-keys", query(a.listKeys)},
		{http.MethodPost, "/api/api-keys", command(a.createKey)},
		{http.MethodGet, "/api/api-keys/{api_key_id}", query(a.getKey)},
		{http.MethodDelete, "/api/api-keys/{api_key_id}", command(a.revokeKey)},
		{http.MethodPost, "/api/api-keys/{api_key_id}/rotate", command(a.rotateKey)},
		{http.MethodGet, "/api/events", query(a.listEvents)},
	}
}

// getMe returns the caller that the credential has just proved.
func (a *API) getMe(r *request) (reply, error) {
	return ok(r.me(&r.who.User, r.who.Memberships)).at(r.who.User.Revision), nil
}

func (a *API) updateMe(r *request) (reply, error) {
	in, err := decode[openapi.MePatch](r)
	if err != nil {
		return reply{}, err
	}
	changes := account.UserChanges{Name: in.Name, DefaultWorkspace: cleared[identity.WorkspaceID](in.DefaultWorkspaceID)}
	if _, err := r.Accounts.ChangeMe(r.Context(), r.by, r.match, changes); err != nil {
		return reply{}, err
	}
	u, memberships, err := r.Accounts.Me(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	return ok(r.me(u, memberships)).at(u.Revision), nil
}

func (r *request) me(u *account.User, memberships []account.Membership) openapi.Me {
	org := observation(r.Request).org
	me := openapi.Me{
		User: openapi.User{
			ID: string(u.ID), Email: openapi.OrNull(u.Email), Name: u.Name, Operator: u.Operator,
			DefaultWorkspaceID: openapi.OrNull(string(u.DefaultSeen(r.by))),
		},
		Org:         openapi.Org{ID: string(org.ID), Slug: org.Slug, Name: org.Name},
		Workspace:   nullable.NewNullNullable[openapi.Workspace](),
		Workspaces:  each(memberships, r.membership),
		Role:        openapi.OrNull(openapi.WorkspaceRole(r.by.Role.String())),
		Permissions: account.Permissions(r.by),
		Limits:      openapi.Limits{RequestsPerMinute: r.api.config.RateLimit.PerMinute, Burst: r.api.config.RateLimit.Burst},
		Revision:    u.Revision, CreatedAt: openapi.Time(u.CreatedAt), UpdatedAt: openapi.Time(u.UpdatedAt),
	}
	for _, ws := range me.Workspaces {
		if ws.ID == string(r.by.Workspace) {
			me.Workspace = nullable.NewNullableWithValue(ws)
		}
	}
	return me
}

func keyID(r *request) identity.KeyID {
	return pathID[identity.KeyID](r, "api_key_id", identity.KeyPrefix)
}

func (a *API) listKeys(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	found, err := r.Accounts.Keys(r.Context(), r.by, q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.APIKeyList{Data: each(found.Items, func(k *account.Key) openapi.APIKey { return toKey(k, r.by.At) }), NextCursor: next}), err
}

func (a *API) createKey(r *request) (reply, error) {
	in, err := decode[openapi.APIKeyCreate](r)
	if err != nil {
		return reply{}, err
	}
	create := r.Accounts.CreateKey
	if in.Kind == openapi.APIKeyKindService {
		create = r.Accounts.CreateServiceKey
	}
	k, token, err := create(r.Context(), r.by, observation(r.Request).org, account.KeyDraft{
		Name: in.Name, Ceiling: identity.ParseRole(string(in.RoleCeiling)), ExpiresAt: time.Time(in.ExpiresAt),
	})
	return r.newKey(k, token, err)
}

func (a *API) rotateKey(r *request) (reply, error) {
	in, err := decode[openapi.APIKeyRotate](r)
	if err != nil {
		return reply{}, err
	}
	k, token, err := r.Accounts.RotateKey(r.Context(), r.by, observation(r.Request).org, keyID(r), r.match, time.Duration(in.GraceSeconds)*time.Second)
	return r.newKey(k, token, err)
}

// newKey returns a key with its token, which is shown only once.
func (r *request) newKey(k *account.Key, token account.Token, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	out := created("/api/api-keys/"+string(k.ID), toKeyCreated(k, token, r.by.At)).at(k.Revision)
	out.reveals = string(k.ID)
	return out, nil
}

func (a *API) getKey(r *request) (reply, error) {
	k, err := r.Accounts.Key(r.Context(), r.by, keyID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toKey(k, r.by.At)).at(k.Revision), nil
}

func (a *API) revokeKey(r *request) (reply, error) {
	return noContent, r.Accounts.RevokeKey(r.Context(), r.by, keyID(r), r.match)
}

func toKey(k *account.Key, now time.Time) openapi.APIKey {
	status := openapi.APIKeyStatusActive
	switch {
	case !k.RevokedAt.IsZero():
		status = openapi.APIKeyStatusRevoked
	case !k.Live(now):
		status = openapi.APIKeyStatusExpired
	}
	kind := openapi.APIKeyKindPersonal
	if k.Service {
		kind = openapi.APIKeyKindService
	}
	return openapi.APIKey{
		Kind: kind, ID: string(k.ID), Name: k.Name, UserID: string(k.User), RoleCeiling: openapi.WorkspaceRole(k.Ceiling.String()), Hint: k.Hint, Status: status,
		ExpiresAt: openapi.OrNull(openapi.Time(k.ExpiresAt)), LastUsedAt: openapi.OrNull(openapi.Time(k.LastUsedAt)), RevokedAt: openapi.OrNull(openapi.Time(k.RevokedAt)),
		CreatedBy: string(k.CreatedBy), Revision: k.Revision, CreatedAt: openapi.Time(k.CreatedAt), UpdatedAt: openapi.Time(k.UpdatedAt),
	}
}

func toKeyCreated(k *account.Key, token account.Token, now time.Time) openapi.APIKeyCreated {
	s := toKey(k, now)
	return openapi.APIKeyCreated{
		Kind: s.Kind, ID: s.ID, Name: s.Name, UserID: s.UserID, RoleCeiling: s.RoleCeiling, Hint: s.Hint, Status: s.Status,
		ExpiresAt: s.ExpiresAt, LastUsedAt: s.LastUsedAt, RevokedAt: s.RevokedAt, CreatedBy: s.CreatedBy,
		Revision: s.Revision, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Token: token.Reveal(),
	}
}

func (a *API) listEvents(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	f := event.Filter{Type: r.query.Get("type"), Actor: identity.UserID(r.query.Get("actor")), Subject: r.query.Get("subject")}
	if after := r.query.Get("created_after"); after != "" {
		f.CreatedAfter, _ = time.Parse(time.RFC3339, after) // the contract has let only times through
	}
	found, err := r.Accounts.Events(r.Context(), r.by, f, q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.EventList{Data: each(found.Items, toEvent), NextCursor: next}), err
}

func toEvent(e *event.Event) openapi.Event {
	data := e.Data
	if data == nil { // the contract promises an object, also of an event that has nothing to add
		data = map[string]any{}
	}
	return openapi.Event{
		ID: e.ID, Type: e.Type, Actor: openapi.OrNull(string(e.Actor)), APIKeyID: openapi.OrNull(string(e.Key)), Subject: e.Subject,
		Data: data, RequestID: e.Request.ID, Address: openapi.OrNull(e.Request.Address), CreatedAt: openapi.Time(e.At),
	}
}
