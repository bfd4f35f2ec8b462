package rest

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
)

func (a *accountsArea) accountOperations() []operation {
	return []operation{
		getOf("/api/me", cachedQuery(a.getMe)),
		patchOf("/api/me", command(a.updateMe)),
		getOf("/api/api-keys", query(listKeys)),
		postOf("/api/api-keys", command(createKey)),
		getOf("/api/api-keys/{api_key_id}", query(getKey)),
		deleteOf("/api/api-keys/{api_key_id}", command(revokeKey)),
		postOf("/api/api-keys/{api_key_id}/rotate", command(rotateKey)),
	}
}

// getMe returns the caller that the credential has just proved.
func (a *accountsArea) getMe(r *request) (reply, error) {
	r.uncacheable = !r.hasOneWorkspace() // others can change too
	r.trackedOnly = true
	p := r.person()
	return a.profileReply(r, &p.User, p.Memberships)
}

func (a *accountsArea) updateMe(r *request) (reply, error) {
	in, err := decode[openapi.MePatch](r)
	if err != nil {
		return reply{}, err
	}
	changes := account.UserChanges{
		Name:             in.Name,
		DefaultWorkspace: convert.PatchString[identity.WorkspaceID](in.DefaultWorkspaceID),
	}
	u, memberships, err := r.Accounts.ChangeMe(r.Context(), r.by, r.match, changes)
	if err != nil {
		return reply{}, err
	}
	return a.profileReply(r, u, memberships)
}

// profileReply responds with the caller, and with how many webhooks fail if the caller manages them.
func (a *accountsArea) profileReply(r *request, u *account.User, memberships []account.Membership) (reply, error) {
	me := toMe(r, u, memberships)
	if webhook.MayManage(r.by) == nil && r.by.Scopes.Allow("webhooks:read") {
		r.trackedOnly = false
		failing, err := a.failingWebhooks(r)
		if err != nil {
			return reply{}, err
		}
		me.FailingWebhooks.Set(failing)
	}
	return ok(me).withRevision(u.Revision), nil
}

func keyID(r *request) identity.KeyID {
	return pathID[identity.KeyID](r, "api_key_id", identity.KeyPrefix)
}

func listKeys(r *request) (reply, error) {
	key := func(k *account.Key) openapi.APIKey { return toKey(k, r.by.At) }
	return listing(r, key, func(q page.Query) (account.KeyPage, error) {
		found, err := r.Accounts.Keys(r.Context(), r.by, q)
		if err != nil {
			return found, err
		}
		keys := make([]*account.Key, len(found.Items))
		for i := range found.Items {
			keys[i] = &found.Items[i]
		}
		return found, r.KeyUsage.Count(r.Context(), r.by, keys...)
	})
}

func createKey(r *request) (reply, error) {
	in, err := decode[openapi.APIKeyCreate](r)
	if err != nil {
		return reply{}, err
	}
	scopes, networks, err := keyLimits(&in)
	if err != nil {
		return reply{}, err
	}
	create := r.Accounts.CreateKey
	if in.Kind == openapi.APIKeyKindService {
		create = r.Accounts.CreateServiceKey
	}
	k, token, err := create(r.Context(), r.by, observation(r.Request).org, account.KeyDraft{
		Name:      in.Name,
		Ceiling:   identity.ParseRole(string(in.RoleCeiling)),
		Scopes:    scopes,
		Networks:  networks,
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	return newKeyReply(r, k, token, err)
}

func rotateKey(r *request) (reply, error) {
	in, err := decode[openapi.APIKeyRotate](r)
	if err != nil {
		return reply{}, err
	}
	k, token, err := r.Accounts.RotateKey(
		r.Context(), r.by, observation(r.Request).org, keyID(r), r.match, time.Duration(in.GraceSeconds)*time.Second,
	)
	return newKeyReply(r, k, token, err)
}

// newKeyReply returns a key with its token, which is shown only once.
func newKeyReply(r *request, k *account.Key, token account.Token, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	out := created("/api/api-keys/"+string(k.ID), toKeyCreated(k, token, r.by.At)).withRevision(k.Revision)
	out.reveals = string(k.ID)
	return out, nil
}

func getKey(r *request) (reply, error) {
	k, err := r.Accounts.Key(r.Context(), r.by, keyID(r))
	if err != nil {
		return reply{}, err
	}
	if err := r.KeyUsage.Count(r.Context(), r.by, k); err != nil {
		return reply{}, err
	}
	return ok(toKey(k, r.by.At)).withRevision(k.Revision), nil
}

func revokeKey(r *request) (reply, error) {
	return noContent, r.Accounts.RevokeKey(r.Context(), r.by, keyID(r), r.match)
}
