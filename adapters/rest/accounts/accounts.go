package accounts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
)

func (a *handlers) accountOperations() []server.Operation {
	return []server.Operation{
		server.Get("/api/me", server.CachedQuery(a.getMe)),
		server.Patch("/api/me", server.Command(a.updateMe)),
		server.Get("/api/api-keys", server.Query(listKeys)),
		server.Post("/api/api-keys", server.Command(createKey)),
		server.Get("/api/api-keys/{api_key_id}", server.Query(getKey)),
		server.Delete("/api/api-keys/{api_key_id}", server.Command(revokeKey)),
		server.Post("/api/api-keys/{api_key_id}/rotate", server.Command(rotateKey)),
		server.Post("/api/keys/leaked", server.Anonymous{Run: reportLeakedKeys}),
	}
}

// getMe returns the caller that the credential has just proved.
func (a *handlers) getMe(r *server.Call) (server.Reply, error) {
	// Others can change too, and a session can be confirmed.
	r.Uncacheable = !r.HasOneWorkspace() || r.SessionPolicy().SecondFactorFrom != identity.NoRole
	r.TrackedOnly = true
	p := r.Person()
	return a.profileReply(r, &p.User, p.Memberships)
}

func (a *handlers) updateMe(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.MePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	changes := account.UserChanges{
		Name:             in.Name,
		DefaultWorkspace: convert.PatchString[identity.WorkspaceID](in.DefaultWorkspaceID),
	}
	u, memberships, err := r.Accounts.ChangeMe(r.Context(), r.By, r.Match, changes)
	if err != nil {
		return server.Reply{}, err
	}
	return a.profileReply(r, u, memberships)
}

// profileReply responds with the caller, and with how many webhooks fail if the caller manages them.
func (a *handlers) profileReply(
	r *server.Call, u *account.User, memberships []account.Membership,
) (server.Reply, error) {
	me := toMe(r, u, memberships)
	if webhook.MayManage(r.By) == nil && r.By.Scopes.Allow("webhooks:read") {
		r.TrackedOnly = false
		failing, err := a.failingWebhooks(r)
		if err != nil {
			return server.Reply{}, err
		}
		me.FailingWebhooks.Set(failing)
	}
	return server.OK(me).WithRevision(u.Revision), nil
}

func keyID(r *server.Call) identity.KeyID {
	return server.PathID[identity.KeyID](r, "api_key_id", identity.KeyPrefix)
}

func listKeys(r *server.Call) (server.Reply, error) {
	key := func(k *account.Key) openapi.APIKey { return toKey(k, r.By.At) }
	return server.List(r, key, func(q page.Query) (account.KeyPage, error) {
		found, err := r.Accounts.Keys(r.Context(), r.By, q)
		if err != nil {
			return found, err
		}
		keys := make([]*account.Key, len(found.Items))
		for i := range found.Items {
			keys[i] = &found.Items[i]
		}
		return found, r.KeyUsage.Count(r.Context(), r.By, keys...)
	})
}

func createKey(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.APIKeyCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	scopes, networks, err := keyLimits(&in)
	if err != nil {
		return server.Reply{}, err
	}
	create := r.Accounts.CreateKey
	if in.Kind == openapi.APIKeyKindService {
		create = r.Accounts.CreateServiceKey
	}
	k, token, err := create(r.Context(), r.By, server.Observed(r.Request).Org, account.KeyDraft{
		Name:      in.Name,
		Ceiling:   identity.ParseRole(string(in.RoleCeiling)),
		Scopes:    scopes,
		Networks:  networks,
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	return newKeyReply(r, k, token, err)
}

func rotateKey(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.APIKeyRotate](r)
	if err != nil {
		return server.Reply{}, err
	}
	k, token, err := r.Accounts.RotateKey(
		r.Context(), r.By, server.Observed(r.Request).Org, keyID(r), r.Match,
		time.Duration(in.GraceSeconds)*time.Second,
	)
	return newKeyReply(r, k, token, err)
}

// newKeyReply returns a key with its token, which is shown only once.
func newKeyReply(r *server.Call, k *account.Key, token account.Token, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	out := server.Created("/api/api-keys/"+string(k.ID), toKeyCreated(k, token, r.By.At)).WithRevision(k.Revision)
	out.Reveals = string(k.ID)
	return out, nil
}

func getKey(r *server.Call) (server.Reply, error) {
	k, err := r.Accounts.Key(r.Context(), r.By, keyID(r))
	if err != nil {
		return server.Reply{}, err
	}
	if err := r.KeyUsage.Count(r.Context(), r.By, k); err != nil {
		return server.Reply{}, err
	}
	return server.OK(toKey(k, r.By.At)).WithRevision(k.Revision), nil
}

func revokeKey(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Accounts.RevokeKey(r.Context(), r.By, keyID(r), r.Match)
}
