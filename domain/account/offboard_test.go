package account_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// offboardedKeys returns what a store loads for the member: a personal key, service keys that they
// created, one of them expired, and a key that such a program created for itself.
func offboardedKeys() []*account.Key {
	key := func(id identity.KeyID, user identity.UserID, service bool) *account.Key {
		return &account.Key{
			ID:        id,
			Org:       "org",
			Workspace: "acme",
			User:      user,
			Service:   service,
			Name:      "k",
			Ceiling:   identity.Member,
			Revision:  2,
		}
	}
	expiredKey := key("expired", "bot", true)
	expiredKey.ExpiresAt = later
	return []*account.Key{key("personal", "member", false), key("program", "bot", true), key("child", "bot", false),
		expiredKey}
}

func endedKeys(keys []*account.Key) (ends []identity.KeyID) {
	for _, k := range keys {
		if !k.RevokedAt.IsZero() {
			ends = append(ends, k.ID)
		}
	}
	return ends
}

func TestServiceKeysEndWithTheirCreator(t *testing.T) {
	for name, tt := range map[string]struct {
		by    identity.Actor
		keep  account.KeepServiceKeys
		want  error
		ended []identity.KeyID
		data  string
	}{
		"a removal ends them": {person("admin"), false, nil,
			[]identity.KeyID{"personal", "program", "child"}, "service_keys_ended"},
		"unless the admin keeps them": {person("admin"), true, nil, []identity.KeyID{"personal"},
			"service_keys_kept"},
		"a member who leaves ends them": {person("member"), false, nil,
			[]identity.KeyID{"personal", "program", "child"}, "service_keys_ended"},
		"and cannot keep them themselves": {person("member"), true, identity.ErrForbidden, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			w.Powers = map[identity.UserID]account.Powers{"member": {Keys: offboardedKeys()}}
			require.ErrorIs(t, w.Remove(tt.by, nil, "member", tt.keep), tt.want)
			assert.EqualSlice(t, "ended", endedKeys(w.Powers["member"].Keys), tt.ended)
			if tt.want != nil {
				return
			}
			want := map[string]any{"user_id": identity.UserID("member"), "role": "member",
				tt.data: []identity.KeyID{"program", "child"}}
			noted(t, w, tt.by, "member.removed", want)
		})
	}
	t.Run("rules that take a membership end them", func(t *testing.T) {
		w := byRules(acme(), "member", identity.NoRole)
		w.Powers = map[identity.UserID]account.Powers{"member": {Keys: offboardedKeys()}}
		w.SettleGranted(identity.System("org", "", "sign-in", later), "member", "https://issuer", identity.NoRole, nil)
		if got := endedKeys(w.Powers["member"].Keys); len(got) != 3 {
			t.Errorf("ended %q", got)
		}
	})
}

// operator returns by as an operator of the org.
func operator(by identity.Actor) identity.Actor {
	by.Operator = true
	return by
}

func TestDisable(t *testing.T) {
	account1 := func(user *account.User, operators ...identity.UserID) func() *account.Access {
		return func() *account.Access {
			u := *user
			return &account.Access{
				User: &u, Operators: operators, MemberOf: []identity.WorkspaceID{"acme", "beta"},
				Powers: map[identity.WorkspaceID]account.Powers{"acme": {Keys: offboardedKeys()}},
			}
		}
	}
	member := &account.User{ID: "member", Org: "org", Revision: 4}
	t.Run("an operator ends the keys that a directory has suspended", func(t *testing.T) {
		a := account1(member, "root")()
		require.NoError(t, a.Suspend(identity.System("org", "", "scim", now), "inactive", identity.SuspendServiceKeys))
		start := a.User.DisabledAt
		require.NoError(t, a.Disable(operator(person("root")), "left", false))
		if got := endedKeys(a.Powers["acme"].Keys); len(got) == 0 || !a.User.DisabledAt.Equal(start) {
			t.Errorf("ended %q, disabled at %s", got, a.User.DisabledAt)
		}
		events := len(a.User.Recorded())
		require.NoError(t, a.Disable(operator(person("root")), "left", false))
		if len(a.User.Recorded()) != events {
			t.Error("disabling again changes something")
		}
	})
	ops := &account.User{ID: "ops", Org: "org", Revision: 4, Operator: true}
	item := &account.User{ID: "member", Org: "org", Revision: 4, DisabledAt: now}
	for name, tt := range map[string]struct {
		a      func() *account.Access
		by     identity.Actor
		reason string
		keep   account.KeepServiceKeys
		want   error
		ended  []identity.KeyID
	}{
		"an operator may": {account1(member, "ops"), operator(person("ops")), "left", false, nil,
			[]identity.KeyID{"program", "child"}},
		"and keeps service keys": {account1(member, "ops"), operator(person("ops")), "", true, nil, nil},
		"so may the system": {account1(member), identity.System("org", "", "cli", later), "", false,
			nil, []identity.KeyID{"program", "child"}},
		"an operator's full key may": {account1(member, "ops"),
			operator(keyed(person("ops"), "acme", identity.Owner)), "", true, nil, nil},
		"a smaller one may not": {account1(member, "ops"),
			operator(keyed(person("ops"), "acme", identity.Admin)), "", false, identity.ErrForbidden, nil},
		"no one else may": {account1(member, "ops"), person("owner"), "", false,
			identity.ErrForbidden, nil},
		"nor who just was one": {account1(member, "ops"), operator(person("was")), "", false,
			identity.ErrForbidden, nil},
		"one operator disables another": {account1(ops, "ann", "ops"), operator(person("ann")), "",
			true, nil, nil},
		"and themselves, if one is left": {account1(ops, "ann", "ops"), operator(person("ops")), "",
			true, nil, nil},
		"the last one does not": {account1(ops, "ops"), operator(person("ops")), "", false,
			account.ErrLastOperator, nil},
		"but the system may disable them": {account1(ops, "ops"), identity.System("org", "", "cli", later), "",
			true, nil, nil},
		"a program is no person": {account1(&account.User{ID: "bot", Org: "org", Service: true}, "ops"),
			operator(person("ops")), "", false, account.ErrUserNotFound, nil},
		"no one disables in another org": {account1(&account.User{ID: "x", Org: "other"}, "ops"),
			operator(person("ops")), "", false, account.ErrUserNotFound, nil},
		"a reason without control letters": {account1(member, "ops"), operator(person("ops")), "a\nb",
			false, nil, nil},
		"disabling again changes nothing": {account1(item, "ops"), operator(person("ops")), "", false, nil, nil},
		"a reason of 200 characters at most": {account1(member, "ops"), operator(person("ops")),
			string(make([]rune, 201)), false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := tt.a()
			previous := *a.User
			err := a.Disable(tt.by, tt.reason, tt.keep)
			if isInvalid := wrongReason(tt.reason); isInvalid {
				if got := wrongFields(t, err); !slices.Equal(got, []string{"/reason invalid_format"}) {
					t.Fatalf("wrong: %q", got)
				}
			} else {
				require.ErrorIs(t, err, tt.want)
			}
			assert.EqualSlice(t, "ended", endedKeys(a.Powers["acme"].Keys), tt.ended)
			if err != nil || !previous.DisabledAt.IsZero() {
				if a.User.DisabledAt != previous.DisabledAt || a.User.Revision != previous.Revision ||
					len(a.User.Recorded()) != 0 {
					t.Errorf("it changed: %+v", a.User)
				}
				return
			}
			if a.User.Enabled() || a.User.DisabledAt != later || a.User.Revision != 5 {
				t.Errorf("got %+v", a.User)
			}
			events := a.User.Recorded()
			if len(events) != 2 || events[0].Workspace != "acme" || events[1].Workspace != "beta" ||
				events[0].Type != "user.disabled" || events[0].Subject != string(previous.ID) {
				t.Errorf("recorded %+v", events)
			}
			if tt.reason != "" && events[1].Data["reason"] != tt.reason {
				t.Errorf("data = %v", events[1].Data)
			}
			if tt.ended != nil && !reflect.DeepEqual(events[0].Data["service_keys_ended"], tt.ended) {
				t.Errorf("data = %v", events[0].Data)
			}
		})
	}
}

func wrongReason(s string) bool { return len(s) > 200 || s == "a\nb" }

func TestEnable(t *testing.T) {
	by := operator(person("ops"))
	t.Run("it opens the account, and ended keys stay ended", func(t *testing.T) {
		a := &account.Access{User: &account.User{ID: "ann", Org: "org"}, Operators: []identity.UserID{"ops"},
			MemberOf: []identity.WorkspaceID{"acme"},
			Powers:   map[identity.WorkspaceID]account.Powers{"acme": {Keys: offboardedKeys()}}}
		require.NoError(t, a.Disable(by, "", false))
		ends := endedKeys(a.Powers["acme"].Keys)
		require.NoError(t, a.Enable(by, "back"))
		if !a.User.Enabled() || !slices.Equal(endedKeys(a.Powers["acme"].Keys), ends) {
			t.Errorf("got %+v", a.User)
		}
		recorded(t, a.User.Log, by, "ann", "user.disabled", "user.enabled")
	})
	t.Run("an enabled one stays as it is", func(t *testing.T) {
		a := &account.Access{User: &account.User{ID: "ann", Org: "org"}, Operators: []identity.UserID{"ops"}}
		require.NoError(t, a.Enable(by, ""))
		recorded(t, a.User.Log, by, "ann")
	})
	t.Run("a person without a workspace is in the trail of none", func(t *testing.T) {
		a := &account.Access{User: &account.User{ID: "ann", Org: "org"}, Operators: []identity.UserID{"ops"}}
		require.NoError(t, a.Disable(by, "", false))
		if e := a.User.Recorded(); len(e) != 1 || e[0].Workspace != "" {
			t.Errorf("recorded %+v", e)
		}
	})
	t.Run("only an operator may", func(t *testing.T) {
		a := &account.Access{User: &account.User{ID: "ann", Org: "org", DisabledAt: now},
			Operators: []identity.UserID{"ops"}}
		require.ErrorIs(t, a.Enable(person("ops"), ""), identity.ErrForbidden)
	})
}

func TestADisabledAccountOpensNothing(t *testing.T) {
	p := &session.Principal{Principal: account.Principal{
		User: account.User{ID: "ann"}, Membership: account.Membership{Role: identity.Member},
	}}
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer", TrustEmail: true}}}
	token := session.Proof{Issuer: "https://issuer", Subject: "ann", Until: now.Add(time.Hour)}
	for _, isEnabled := range []bool{true, false} {
		if !isEnabled {
			p.User.DisabledAt = now
		}
		assert.Equal(t, "Live", p.Live(identity.KeyPolicy{}, now), isEnabled)
		for _, proof := range []session.Proof{{}, token} {
			assert.Equal(t, "Stands", proof.Valid(org, p, now), isEnabled)
		}
	}
	t.Run("nor does it sign in, though the issuer knows it", func(t *testing.T) {
		ann := &account.User{ID: "ann", Org: "org", Email: "ann@example.com", EmailVerified: true,
			EmailVerifiedBy: "https://issuer", DisabledAt: now}
		claims := account.Claims{Issuer: "https://issuer", Subject: "ann", Email: "ann@example.com",
			EmailVerified: true, IssuedAt: now}
		for name, s := range map[string]*account.SignIn{
			"linked":             {Org: org, Claims: claims, Linked: ann},
			"by a newer token":   {Org: org, Claims: claims, Linked: ann, IssuedAt: later},
			"by a second issuer": {Org: org, Claims: claims, ByEmail: ann},
		} {
			t.Run(name, func(t *testing.T) {
				require.ErrorIs(t, s.Settle(identity.System("org", "", "sign-in", later)), identity.ErrUnauthenticated)
			})
		}
	})
}

func TestKeyPolicy(t *testing.T) {
	week := 7 * 24 * time.Hour
	by := actor("ann", identity.Admin)
	short := by
	short.KeyUntil = now.Add(time.Hour)
	long := by
	long.KeyUntil = now.Add(2 * week)
	for name, tt := range map[string]struct {
		by    identity.Actor
		asked time.Time
		want  time.Time
		wrong []string
	}{
		"without an end, it is the latest":          {by, time.Time{}, now.Add(week), nil},
		"or the maker's end, if that is earlier":    {short, time.Time{}, now.Add(time.Hour), nil},
		"and not the maker's end, if that is later": {long, time.Time{}, now.Add(week), nil},
		"an earlier end is kept":                    {by, now.Add(time.Hour), now.Add(time.Hour), nil},
		"the latest itself is allowed":              {by, now.Add(week), now.Add(week), nil},
		"a later one is refused": {by, now.Add(week + 1), time.Time{},
			[]string{"/expires_at too_late"}},
		"as is one for which the maker would be there": {long, now.Add(week + time.Hour), time.Time{},
			[]string{"/expires_at too_late"}},
	} {
		t.Run("of a lifetime: "+name, func(t *testing.T) {
			policy := identity.KeyPolicy{MaxLifetime: week}
			k, _, err := of(tt.by).NewKey(tt.by, policy, "ann", account.KeyDraft{Name: "k", ExpiresAt: tt.asked})
			_, s, _, errService := of(tt.by).NewServiceKey(tt.by, policy,
				account.KeyDraft{Name: "k", Ceiling: identity.Viewer, ExpiresAt: tt.asked})
			if got := wrongFields(t, err); !slices.Equal(got, tt.wrong) {
				t.Fatalf("wrong: %q", got)
			}
			if got := wrongFields(t, errService); !slices.Equal(got, tt.wrong) {
				t.Fatalf("wrong of a service key: %q", got)
			}
			if err == nil && (k.ExpiresAt != tt.want || s.ExpiresAt != tt.want) {
				t.Errorf("ends %v and %v, want %v", k.ExpiresAt, s.ExpiresAt, tt.want)
			}
		})
	}
	t.Run("of a lifetime: a rotation obeys it", func(t *testing.T) {
		for _, ends := range []time.Time{{}, now.Add(3 * week)} {
			k := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop",
				Ceiling: identity.Member, ExpiresAt: ends, Revision: 1}
			next, _, err := of(by).RotateKey(by, identity.KeyPolicy{MaxLifetime: week}, nil, k, time.Minute)
			if err != nil || next.ExpiresAt != now.Add(week) {
				t.Errorf("ends %v, %v", next.ExpiresAt, err)
			}
		}
	})
	forbidden := identity.KeyPolicy{NoPersonal: true}
	t.Run("without personal keys: people make and rotate none", func(t *testing.T) {
		_, _, err := of(by).NewKey(by, forbidden, "ann", account.KeyDraft{Name: "k"})
		require.ErrorIs(t, err, account.ErrPersonalKeysForbidden)
		_, _, err = of(by).NewKey(identity.System("org", "acme", "cli", now), forbidden, "ann",
			account.KeyDraft{Name: "k"})
		require.ErrorIs(t, err, account.ErrPersonalKeysForbidden)
		k := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop", Ceiling: identity.Member,
			Revision: 1}
		_, _, err = of(by).RotateKey(by, forbidden, nil, k, time.Minute)
		require.ErrorIs(t, err, account.ErrPersonalKeysForbidden)
		k.Service = true
		_, _, err = of(by).RotateKey(by, forbidden, nil, k, time.Minute)
		require.NoError(t, err)
	})
	t.Run("without personal keys: programs remain", func(t *testing.T) {
		_, _, _, err := of(by).NewServiceKey(by, forbidden, account.KeyDraft{Name: "k", Ceiling: identity.Viewer})
		require.NoError(t, err)
		bot := program(actor("bot", identity.Member))
		_, _, err = of(bot).NewKey(bot, forbidden, "bot", account.KeyDraft{Name: "k"})
		require.NoError(t, err)
	})
	t.Run("without personal keys: those that exist open nothing", func(t *testing.T) {
		personal := account.Principal{Membership: account.Membership{Role: identity.Member}}
		service, bearers := personal, personal
		service.Key.Service, bearers.User.Service = true, true
		if personal.Live(forbidden, now) || !personal.Live(identity.KeyPolicy{}, now) ||
			!service.Live(forbidden, now) || !bearers.Live(forbidden, now) {
			t.Error("the policy is not obeyed")
		}
	})
}

func TestRevokeAbove(t *testing.T) {
	actorOf := func(by identity.Actor, key identity.KeyID, ceiling identity.Role) identity.Actor {
		by.Key, by.Ceiling = key, ceiling
		return by
	}
	for name, tt := range map[string]struct {
		by      identity.Actor
		key     identity.KeyID
		ceiling identity.Role // of the key
		of      identity.Role // of the key's user
		want    error
	}{
		"a small key of the same user": {actorOf(actor("ann", identity.Owner), "small", identity.Member), "k",
			identity.Owner, identity.Owner, identity.ErrRoleCeiling},
		"an admin, a key of an owner": {actor("bob", identity.Admin), "k", identity.Owner, identity.Owner,
			identity.ErrRoleCeiling},
		"an admin, an owner's small key": {actor("bob", identity.Admin), "k", identity.Admin,
			identity.Owner, nil},
		"an admin, a large key of a member": {actor("bob", identity.Admin), "k", identity.Owner,
			identity.Member, nil},
		"an owner, every key": {actor("bob", identity.Owner), "k", identity.Owner,
			identity.Owner, nil},
		"a key, itself": {actorOf(actor("ann", identity.Owner), "k", identity.Member), "k",
			identity.Owner, identity.Owner, nil},
		"a person, their own": {actorOf(actor("ann", identity.Member), "", identity.Owner), "k",
			identity.Owner, identity.Member, nil},
		"an admin, that of who is no member": {actor("bob", identity.Admin), "k", identity.Owner,
			identity.NoRole, nil},
		"the system, every key": {identity.System("org", "acme", "cli", now), "k", identity.Owner,
			identity.Owner, nil},
		"a small key, one as small": {actorOf(actor("ann", identity.Owner), "small", identity.Member), "k",
			identity.Member, identity.Owner, nil},
		"an admin's key for members, an admin": {actorOf(actor("bob", identity.Admin), "small", identity.Admin), "k",
			identity.Admin, identity.Admin, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := of(tt.by)
			if tt.by.User != "ann" && tt.of != identity.NoRole {
				w.Members["ann"] = account.Member{User: "ann", Role: tt.of}
			}
			k := &account.Key{ID: tt.key, Org: "org", Workspace: "acme", User: "ann", Ceiling: tt.ceiling, Revision: 1}
			require.ErrorIs(t, w.RevokeKey(tt.by, nil, k, nil), tt.want)
			if k.RevokedAt.IsZero() != (tt.want != nil) {
				t.Errorf("revoked at %v", k.RevokedAt)
			}
		})
	}
}
