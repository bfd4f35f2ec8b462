package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNewKeyHasTheLimitsOfItsMaker(t *testing.T) {
	const reads, office = identity.Scopes("prompts:read"), identity.Networks("10.0.0.0/8")
	limitedActor := actor("ann", identity.Owner)
	limitedActor.Scopes, limitedActor.Networks = "keys:write prompts:read", office
	free := actor("ann", identity.Owner)
	for name, tt := range map[string]struct {
		by       identity.Actor
		scopes   identity.Scopes
		networks identity.Networks
		wantErr  error
		want     account.KeyDraft
	}{
		"none without limits": {free, "", "", nil, account.KeyDraft{}},
		"those that are given": {free, reads, office, nil,
			account.KeyDraft{Scopes: reads, Networks: office}},
		"those of the maker if none are": {limitedActor, "", "", nil,
			account.KeyDraft{Scopes: limitedActor.Scopes, Networks: office}},
		"some of the maker's scopes": {limitedActor, reads, "", nil,
			account.KeyDraft{Scopes: reads, Networks: office}},
		"scopes that the maker's include": {limitedActor, "prompts:render", "", nil,
			account.KeyDraft{Scopes: "prompts:render", Networks: office}},
		"not a scope that the maker lacks": {limitedActor, "prompts:write", "", identity.ErrScopeRequired,
			account.KeyDraft{}},
		"a smaller network": {limitedActor, reads, "10.1.0.0/16", nil,
			account.KeyDraft{Scopes: reads, Networks: "10.1.0.0/16"}},
		"not another network": {limitedActor, reads, "192.0.2.1/32", identity.ErrRoleCeiling, account.KeyDraft{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := account.KeyDraft{Name: "k", Ceiling: identity.Member, Scopes: tt.scopes, Networks: tt.networks}
			check := func(k *account.Key, err error) {
				t.Helper()
				require.ErrorIs(t, err, tt.wantErr)
				if err == nil && (k.Scopes != tt.want.Scopes || k.Networks != tt.want.Networks) {
					t.Errorf("scopes %q, networks %q", k.Scopes, k.Networks)
				}
			}
			k, _, err := of(tt.by).NewKey(tt.by, identity.KeyPolicy{}, tt.by.User, d)
			check(k, err)
			if err == nil && (k.Scopes != "") != (k.Recorded()[0].Data["scopes"] != nil) {
				t.Errorf("data %v", k.Recorded()[0].Data)
			}
			_, k, _, err = of(tt.by).NewServiceKey(tt.by, identity.KeyPolicy{}, d)
			check(k, err)
		})
	}
}

func TestAKeyCannotRotateOrRevokeOneWithOtherLimits(t *testing.T) {
	by := actor("ann", identity.Owner)
	by.Scopes, by.Networks = "keys:write", "10.0.0.0/8"
	for name, tt := range map[string]struct {
		scopes   identity.Scopes
		networks identity.Networks
		rotate   error
		revoke   error
	}{
		"with the same": {"keys:write", "10.0.0.0/8", nil, nil},
		"with less":     {"keys:read", "10.1.0.0/16", nil, nil},
		"with another scope": {"keys:write prompts:read", "10.0.0.0/8", identity.ErrRoleCeiling,
			identity.ErrRoleCeiling},
		"without scopes":           {"", "10.0.0.0/8", identity.ErrRoleCeiling, identity.ErrRoleCeiling},
		"of another network":       {"keys:write", "192.0.2.0/24", identity.ErrRoleCeiling, nil},
		"usable from everywhere":   {"keys:write", "", identity.ErrRoleCeiling, nil},
		"without any limit at all": {"", "", identity.ErrRoleCeiling, identity.ErrRoleCeiling},
	} {
		t.Run(name, func(t *testing.T) {
			k := &account.Key{ID: "k", Workspace: "acme", User: "ann", Ceiling: identity.Member, Name: "k", Revision: 1,
				Scopes: tt.scopes, Networks: tt.networks}
			next, _, err := of(by).RotateKey(by, identity.KeyPolicy{}, nil, k, time.Hour)
			require.ErrorIs(t, err, tt.rotate)
			if err == nil && (next.Scopes != tt.scopes || next.Networks != tt.networks) {
				t.Errorf("its successor has %q and %q", next.Scopes, next.Networks)
			}
			require.ErrorIs(t, of(by).RevokeKey(by, nil, k, nil), tt.revoke)
		})
	}
	t.Run("except itself", func(t *testing.T) {
		k := &account.Key{ID: "own", Workspace: "acme", User: "ann", Ceiling: identity.Member, Revision: 1}
		require.NoError(t, of(by).RevokeKey(by, nil, k, nil))
	})
}

func TestTheDefaultLifetimeOfKeys(t *testing.T) {
	const day = 24 * time.Hour
	policy := identity.KeyPolicy{MaxLifetime: 90 * day, DefaultLifetime: 30 * day}
	by := actor("ann", identity.Owner)
	for name, tt := range map[string]struct {
		policy identity.KeyPolicy
		until  time.Time
		asked  time.Time
		want   time.Time
	}{
		"it is that of a key without an end": {policy, time.Time{}, time.Time{}, now.Add(30 * day)},
		"also without a longest lifetime": {identity.KeyPolicy{DefaultLifetime: day}, time.Time{}, time.Time{},
			now.Add(day)},
		"a key can have a later end":        {policy, time.Time{}, now.Add(60 * day), now.Add(60 * day)},
		"it is cut to the end of the maker": {policy, now.Add(day), time.Time{}, now.Add(day)},
		"without one the longest lifetime does": {identity.KeyPolicy{MaxLifetime: day}, time.Time{}, time.Time{},
			now.Add(day)},
	} {
		t.Run(name, func(t *testing.T) {
			by := by
			by.KeyUntil = tt.until
			k, _, err := of(by).NewKey(by, tt.policy, by.User, account.KeyDraft{Name: "k", ExpiresAt: tt.asked})
			require.NoError(t, err)
			if !k.ExpiresAt.Equal(tt.want) {
				t.Errorf("it ends at %v, want %v", k.ExpiresAt, tt.want)
			}
		})
	}
	t.Run("the successor of a key ends when that does", func(t *testing.T) {
		k := &account.Key{ID: "k", Workspace: "acme", User: "ann", Ceiling: identity.Member, Name: "k", Revision: 1}
		next, _, err := of(by).RotateKey(by, identity.KeyPolicy{DefaultLifetime: day}, nil, k, 0)
		require.NoError(t, err)
		if !next.ExpiresAt.IsZero() {
			t.Errorf("it ends at %v", next.ExpiresAt)
		}
	})
}

func TestEndLeaked(t *testing.T) {
	const found = "https://user:pw@github.com/a/b/blob/main/.env?token=x#L1"
	system := identity.System("org", "acme", "leak", now)
	key := func() *account.Key {
		return &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "CI", Revision: 1}
	}
	w := of(actor("ann", identity.Owner))
	t.Run("the key ends, and those that were created with it", func(t *testing.T) {
		k, newKey := key(), key()
		newKey.ID = "made"
		if !w.EndLeaked(system, account.Leak{URL: found, Source: "commit"}, k, []*account.Key{newKey}) {
			t.Fatal("it did not end")
		}
		recorded(t, k.Log, system, "k", "api_key.leaked", "api_key.revoked")
		recorded(t, newKey.Log, system, "made", "api_key.revoked")
		data := k.Recorded()[0].Data
		if data["url"] != "https://github.com/a/b/blob/main/.env" || data["source"] != "commit" ||
			data["name"] != "CI" {
			t.Errorf("data %v", data)
		}
	})
	t.Run("a suspended key ends, too", func(t *testing.T) {
		k := key()
		k.SuspendedAt = now
		if !w.EndLeaked(system, account.Leak{URL: found}, k, nil) || k.RevokedAt.IsZero() {
			t.Error("it would work again")
		}
	})
	t.Run("the trail has nothing that is not a short https URL or a word", func(t *testing.T) {
		for _, l := range []account.Leak{
			{URL: "javascript:alert(1)", Source: "a b"}, {URL: "http://example.com", Source: "<b>"}, {URL: "https://"},
			{URL: "https://example.com/" + string(make([]byte, 600)), Source: string(make([]byte, 50))},
		} {
			k := key()
			w.EndLeaked(system, l, k, nil)
			if data := k.Recorded()[0].Data; len(data) != 1 {
				t.Errorf("data %v", data)
			}
		}
	})
	for name, change := range map[string]func(*identity.Actor, *account.Key){
		"one that ended":           func(_ *identity.Actor, k *account.Key) { k.RevokedAt = now },
		"one of another workspace": func(_ *identity.Actor, k *account.Key) { k.Workspace = "other" },
		"for a user":               func(by *identity.Actor, _ *account.Key) { by.User = "ann" },
	} {
		t.Run("nothing happens to "+name, func(t *testing.T) {
			by, k := system, key()
			change(&by, k)
			if w.EndLeaked(by, account.Leak{}, k, nil) || len(k.Recorded()) > 0 {
				t.Errorf("it ended: %+v", k)
			}
		})
	}
}

func TestWhoIsAlertedOfAKey(t *testing.T) {
	personal, service := account.Key{User: "ann", CreatedBy: "bob"},
		account.Key{User: "bot", CreatedBy: "bob", Service: true}
	if personal.AlertRecipient() != "ann" || service.AlertRecipient() != "bob" {
		t.Error("the wrong person is alerted")
	}
	good := account.User{Email: "ann@example.com", EmailVerified: true, EmailVerifiedBy: "https://issuer.example.com"}
	if !good.CanBeAlerted() {
		t.Error("a person with a verified address is not alerted")
	}
	for name, change := range map[string]func(*account.User){
		"is disabled":                  func(u *account.User) { u.DisabledAt = now },
		"is a program":                 func(u *account.User) { u.Service = true },
		"has no verified address":      func(u *account.User) { u.EmailVerified = false },
		"has an address of an inviter": func(u *account.User) { u.EmailVerifiedBy = account.VerifiedByInvitation },
		"has no public address":        func(u *account.User) { u.Email = "owner@localhost" },
	} {
		u := good
		if change(&u); u.CanBeAlerted() {
			t.Errorf("a user who %s is alerted", name)
		}
	}
}

func TestPermissionsOfAKeyWithScopes(t *testing.T) {
	by := actor("ann", identity.Owner)
	by.Scopes = "prompts:read"
	if got := account.Permissions(by); len(got) != 1 || got[0] != "prompt_templates.read" {
		t.Errorf("they are %q", got)
	}
	if errors.Is(by.RequireScope("prompts:read"), identity.ErrScopeRequired) {
		t.Error("the scope is not enough")
	}
}
