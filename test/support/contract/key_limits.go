package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func keyLimits(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	newKey, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{
		Name: "limited", Scopes: "chats:read prompts:read", Networks: "10.0.0.0/8 2001:db8::/32",
	})
	t.Run("Get returns them", func(t *testing.T) {
		got, err := a.Keys.Get(ctx, team.Workspace.ID, newKey.ID)
		must(t, err)
		sameKey(t, got, newKey)
	})
	t.Run("so does Principal", func(t *testing.T) {
		got, err := a.Keys.Principal(ctx, team.Org, token.Hash())
		must(t, err)
		sameKey(t, &got.Key, newKey)
	})
	t.Run("a session that the key opened has them", func(t *testing.T) {
		s := openSession(t, a.Stores, team.Org, team.Member.User, fixture.At, newKey)
		got, err := a.Sessions.Person(ctx, team.Org, s.Cookie)
		must(t, err)
		if got.Key.Scopes != newKey.Scopes || got.Key.Networks != newKey.Networks {
			t.Errorf("scopes %q, networks %q", got.Key.Scopes, got.Key.Networks)
		}
	})
}

func keyHolder(t *testing.T, a Adapter) {
	ctx := t.Context()
	for _, org := range a.Orgs[:2] {
		team := fixture.NewTeam(t, a.Stores, org)
		k, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
		for range 2 {
			gotOrg, ws, id, err := a.Keys.Holder(ctx, token.Hash())
			must(t, err)
			if gotOrg != org || ws != team.Workspace.ID || id != k.ID {
				t.Errorf("it is of %s, %s, %s", gotOrg, ws, id)
			}
			revoke(t, a.Stores, team.Member, k.ID)
		}
	}
	_, _, _, err := a.Keys.Holder(ctx, account.NewToken().Hash())
	wantErr(t, err, account.ErrKeyNotFound)
}
