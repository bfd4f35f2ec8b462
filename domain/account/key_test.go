package account_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: role, Key: "own", At: now}
}

// of returns by's workspace as a store loads it, with by's role as the membership.
func of(by identity.Actor) *account.Workspace {
	w := &account.Workspace{ID: "acme", Org: "org", Slug: "acme-slug", Name: "Acme",
		Members: map[identity.UserID]account.Member{}, Live: account.LiveKeys{Maker: true}}
	if by.Role != identity.NoRole {
		w.Members[by.User] = account.Member{User: by.User, Role: by.Role, ByHand: by.Role, Revision: 1}
	}
	return w
}

// wrongFields lists pointers and codes of what an error says about a body.
func wrongFields(t testing.TB, err error) (out []string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if err != nil && (!ok || f.Code != fault.ErrInvalid.Code) {
		t.Fatalf("error = %v, want one about fields", err)
	}
	if ok {
		for _, field := range f.Fields {
			out = append(out, field.Pointer+" "+field.Code)
		}
	}
	return out
}

// recorded fails t unless exactly these events were recorded, with the right actor and subject.
func recorded(t testing.TB, log event.Log, by identity.Actor, subject string, types ...string) {
	t.Helper()
	var got []string
	for _, e := range log.Recorded() {
		got = append(got, e.Type)
		if e.Actor != by.User || e.Subject != subject || e.At != by.At || e.Org != by.Org {
			t.Errorf("event %+v", e)
		}
	}
	if !slices.Equal(got, types) {
		t.Fatalf("recorded %q, want %q", got, types)
	}
}

func TestNewKey(t *testing.T) {
	t.Run("a viewer's allows what was shared with them, and one for viewing makes no other", func(t *testing.T) {
		by := actor("vic", identity.Viewer)
		by.Ceiling = identity.Owner
		k, _, err := of(by).NewKey(by, identity.KeyPolicy{}, by.User, account.KeyDraft{Name: "k"})
		if err != nil || k.Ceiling != identity.Member {
			t.Fatalf("got %+v, %v", k, err)
		}
		by.Ceiling = identity.Viewer
		for _, ceiling := range []identity.Role{identity.NoRole, identity.Viewer, identity.Member} {
			if _, _, err := of(by).NewKey(by, identity.KeyPolicy{}, by.User,
				account.KeyDraft{Name: "k", Ceiling: ceiling}); !errors.Is(err, identity.ErrForbidden) {
				t.Fatalf("error = %v, want ErrForbidden", err)
			}
		}
	})
	t.Run("it is the caller's, and allows what the caller may", func(t *testing.T) {
		by := actor("ann", identity.Member)
		k, token, err := of(by).NewKey(by, identity.KeyPolicy{}, by.User, account.KeyDraft{Name: "laptop"})
		require.NoError(t, err)
		if !id.Valid(identity.KeyPrefix, string(k.ID)) || k.Org != "org" || k.Workspace != "acme" || k.User != "ann" ||
			k.CreatedBy != "ann" || k.Name != "laptop" ||
			k.Ceiling != identity.Member || k.Hash != token.Hash() || k.Hint != token.Hint() || !k.ExpiresAt.IsZero() ||
			k.Revision != 1 || k.CreatedAt != now || !k.Live(now) {
			t.Fatalf("got %+v", k)
		}
		recorded(t, k.Log, by, string(k.ID), "api_key.created")
		if data := k.Recorded()[0].Data; data["name"] != "laptop" || data["ceiling"] != "member" || len(data) != 2 {
			t.Errorf("data = %v", data)
		}
	})
	t.Run("made for a person on behalf of the system, it is that person's", func(t *testing.T) {
		system := identity.System("org", "acme", "cli", now)
		for ceiling, want := range map[identity.Role]identity.Role{identity.NoRole: identity.Member,
			identity.Viewer: identity.Viewer, identity.Admin: identity.Admin} {
			k, _, err := of(actor("bob", identity.Viewer)).NewKey(system, identity.KeyPolicy{}, "bob",
				account.KeyDraft{Name: "first", Ceiling: ceiling})
			if err != nil || k.User != "bob" || k.CreatedBy != "" || k.MadeBy != "" || k.Ceiling != want {
				t.Fatalf("got %+v, %v", k, err)
			}
		}
		deletedWorkspace := of(actor("bob", identity.Owner))
		deletedWorkspace.DeletedAt = now
		for name, w := range map[string]*account.Workspace{"who is no member": of(actor("ann", identity.Owner)),
			"a deleted workspace": deletedWorkspace} {
			if k, _, err := w.NewKey(system, identity.KeyPolicy{}, "bob", account.KeyDraft{Name: "first"}); k != nil ||
				!errors.Is(err, identity.ErrWorkspaceNotFound) {
				t.Errorf("%s: %+v, %v", name, k, err)
			}
		}
	})
	ends := func(by identity.Actor, now time.Time) identity.Actor { by.KeyUntil = now; return by }
	hour := now.Add(time.Hour)
	for _, tt := range []struct {
		name    string
		by      identity.Actor
		d       account.KeyDraft
		want    error
		ceiling identity.Role
		expires time.Time
	}{
		{"a lower ceiling", actor("ann", identity.Admin), account.KeyDraft{Name: "k", Ceiling: identity.Viewer}, nil,
			identity.Viewer, time.Time{}},
		{"one's own", actor("ann", identity.Member), account.KeyDraft{Name: "k", Ceiling: identity.Member}, nil,
			identity.Member, time.Time{}},
		{"a higher one", actor("ann", identity.Member), account.KeyDraft{Name: "k", Ceiling: identity.Admin},
			identity.ErrRoleCeiling, 0, time.Time{}},
		{"who has no role gets none", actor("ann", identity.NoRole), account.KeyDraft{Name: "k"},
			identity.ErrWorkspaceNotFound, 0, time.Time{}},
		{"an end", actor("ann", identity.Member), account.KeyDraft{Name: "k", ExpiresAt: hour}, nil,
			identity.Member, hour},
		{"it ends with the credential that made it", ends(actor("ann", identity.Member), hour),
			account.KeyDraft{Name: "k"}, nil, identity.Member, hour},
		{"or at the very same time", ends(actor("ann", identity.Member), hour),
			account.KeyDraft{Name: "k", ExpiresAt: hour}, nil, identity.Member, hour},
		{"or earlier", ends(actor("ann", identity.Member), hour), account.KeyDraft{Name: "k", ExpiresAt: hour.Add(-1)},
			nil, identity.Member, hour.Add(-1)},
		{"but not later", ends(actor("ann", identity.Member), hour),
			account.KeyDraft{Name: "k", ExpiresAt: hour.Add(1)}, identity.ErrRoleCeiling, 0, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, token, err := of(tt.by).NewKey(tt.by, identity.KeyPolicy{}, tt.by.User, tt.d)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if k != nil || !token.IsZero() {
					t.Fatal("there is a key all the same")
				}
				return
			}
			if k.Ceiling != tt.ceiling || k.ExpiresAt != tt.expires {
				t.Errorf("ceiling %s, expires %v", k.Ceiling, k.ExpiresAt)
			}
		})
	}
	for name, tt := range map[string]struct {
		d    account.KeyDraft
		want []string
	}{
		"a name of 80 characters":  {account.KeyDraft{Name: strings.Repeat("ä", 80)}, nil},
		"a name of 81":             {account.KeyDraft{Name: strings.Repeat("ä", 81)}, []string{"/name too_long"}},
		"no name":                  {account.KeyDraft{}, []string{"/name too_short"}},
		"an end that is now":       {account.KeyDraft{Name: "k", ExpiresAt: now}, []string{"/expires_at in_the_past"}},
		"an end that is yet to be": {account.KeyDraft{Name: "k", ExpiresAt: now.Add(1)}, nil},
		"all that is wrong at once": {account.KeyDraft{ExpiresAt: now},
			[]string{"/expires_at in_the_past", "/name too_short"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := of(actor("ann", identity.Member)).NewKey(actor("ann", identity.Member), identity.KeyPolicy{},
				actor("ann", identity.Member).User, tt.d)
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), tt.want)
		})
	}
	t.Run("no key allows more, or lives longer, than what made it", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			role := rapid.SampledFrom([]identity.Role{identity.NoRole, identity.Viewer, identity.Member, identity.Admin,
				identity.Owner})
			occasion := rapid.SampledFrom([]time.Time{{}, now.Add(time.Minute), now.Add(time.Hour)})
			by := ends(actor("ann", role.Draw(t, "role")), occasion.Draw(t, "until"))
			k, _, err := of(by).NewKey(by, identity.KeyPolicy{}, by.User,
				account.KeyDraft{Name: "k", Ceiling: role.Draw(t, "ceiling"), ExpiresAt: occasion.Draw(t, "expires")})
			if err != nil {
				return
			}
			if k.Ceiling > by.Role || k.Ceiling == identity.NoRole || (!by.KeyUntil.IsZero() &&
				(k.ExpiresAt.IsZero() || k.ExpiresAt.After(by.KeyUntil))) {
				t.Fatalf("%+v made %s until %v", by, k.Ceiling, k.ExpiresAt)
			}
		})
	})
}

// TestKeysAreMadeByWhatIsTrueNow: an actor, with its credential and role, may be up to one second old.
func TestKeysAreMadeByWhatIsTrueNow(t *testing.T) {
	owner := in("ann", identity.Owner) // according to the credential
	by := owner
	by.Key = "parent"
	hold := func(role identity.Role, live account.LiveKeys) *account.Workspace {
		w := of(in("ann", role))
		w.Live = live
		return w
	}
	draft := account.KeyDraft{Name: "k", Ceiling: identity.Member}
	for name, tt := range map[string]struct {
		by   identity.Actor
		w    *account.Workspace
		want error // of a key of one's own, of a service key, and of a rotation
		svc  error
		rot  error
	}{
		"who has left makes none": {owner, hold(identity.NoRole, account.LiveKeys{}),
			identity.ErrWorkspaceNotFound, identity.ErrWorkspaceNotFound, account.ErrKeyNotFound},
		"who was lowered makes less": {owner, hold(identity.Viewer, account.LiveKeys{}), nil,
			identity.ErrForbidden, nil},
		"a key that was revoked makes none": {by, hold(identity.Owner, account.LiveKeys{}), identity.ErrUnauthenticated,
			identity.ErrUnauthenticated, identity.ErrUnauthenticated},
		"one that lives does": {by, hold(identity.Owner, account.LiveKeys{Maker: true}), nil, nil, nil},
		"up to a hundred keys live": {owner, hold(identity.Owner, account.LiveKeys{User: 99, Programs: 99}),
			nil, nil, nil},
		"and no more of one's own": {owner, hold(identity.Owner, account.LiveKeys{User: 100, Programs: 99}),
			account.ErrTooManyKeys, nil, account.ErrTooManyKeys},
		"or of programs": {owner, hold(identity.Owner, account.LiveKeys{User: 99, Programs: 100}), nil,
			account.ErrTooManyKeys, nil},
	} {
		t.Run(name, func(t *testing.T) {
			k, _, err := tt.w.NewKey(tt.by, identity.KeyPolicy{}, tt.by.User, draft)
			require.ErrorIs(t, err, tt.want)
			if err == nil && k.MadeBy != tt.by.Key {
				t.Errorf("made by %q", k.MadeBy)
			}
			previous := len(tt.w.Members)
			u, svc, _, err := tt.w.NewServiceKey(tt.by, identity.KeyPolicy{}, draft)
			require.ErrorIs(t, err, tt.svc)
			if (err == nil && (svc.MadeBy != tt.by.Key || tt.w.Members[u.ID].Role != identity.Member ||
				!tt.w.Members[u.ID].Service)) || (err != nil && len(tt.w.Members) != previous) {
				t.Errorf("made by %q, members %+v", svc.MadeBy, tt.w.Members)
			}
			old := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop",
				Ceiling: identity.Member, Revision: 3}
			_, _, err = tt.w.RotateKey(tt.by, identity.KeyPolicy{}, nil, old, time.Minute)
			require.ErrorIs(t, err, tt.rot)
			if err != nil && (old.Revision != 3 || len(old.Recorded()) != 0) {
				t.Errorf("it changed: %+v", old)
			}
		})
	}
	t.Run("a rotation without grace is one for one", func(t *testing.T) {
		old := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop",
			Ceiling: identity.Member, Revision: 3}
		_, _, err := hold(identity.Owner, account.LiveKeys{User: 100}).RotateKey(owner, identity.KeyPolicy{},
			nil, old, 0)
		require.NoError(t, err)
	})
	t.Run("a successor is made by the key that rotates, or stays its predecessor's maker's", func(t *testing.T) {
		for key, want := range map[identity.KeyID]identity.KeyID{"": "parent", "k": "k", "other": "other"} {
			by := owner
			by.Key = key
			old := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop",
				Ceiling: identity.Member, MadeBy: "parent", CreatedBy: by.User, Revision: 3}
			next, _, err := of(by).RotateKey(by, identity.KeyPolicy{}, nil, old, time.Minute)
			if err != nil || next.MadeBy != want {
				t.Errorf("by %q: made by %q, want %q: %v", key, next.MadeBy, want, err)
			}
			old.ExpiresAt, old.CreatedBy, want = time.Time{}, "eve", key // who may lose their role
			next, _, err = of(by).RotateKey(by, identity.KeyPolicy{}, nil, old, time.Minute)
			if err != nil || next.MadeBy != want {
				t.Errorf("by %q, of another person: made by %q, want %q: %v", key, next.MadeBy, want, err)
			}
		}
	})
	t.Run("for another user only by the system", func(t *testing.T) {
		_, _, err := of(owner).NewKey(owner, identity.KeyPolicy{}, "bob", draft)
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	})
}

func TestWhatAKeyMadeEndsWithIt(t *testing.T) {
	by := actor("ann", identity.Member)
	newKeys := func() []*account.Key {
		return []*account.Key{
			{ID: "child", Org: "org", Workspace: "acme", User: "ann", Name: "child", Revision: 2},
			{ID: "expired", Org: "org", Workspace: "acme", User: "ann", Name: "expired", ExpiresAt: now, Revision: 2},
			{ID: "program's", Org: "org", Workspace: "acme", User: "svc", Service: true, Name: "program's",
				Revision: 2},
		}
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		was  time.Time // when the key was revoked before
		want error
		ends bool
	}{
		"by a revocation":         {by, time.Time{}, nil, true},
		"by none that is refused": {actor("bob", identity.Member), time.Time{}, account.ErrKeyNotFound, false},
		"and not again":           {by, now.Add(-time.Hour), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			k, all := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Revision: 3, RevokedAt: tt.was},
				newKeys()
			require.ErrorIs(t, of(tt.by).RevokeKey(tt.by, nil, k, all), tt.want)
			for _, k := range all {
				ended := tt.ends && k.ID != "expired"
				if k.RevokedAt.Equal(now) != ended || (k.Revision == 3) != ended || (len(k.Recorded()) == 1) != ended {
					t.Errorf("got %+v", k)
				}
				if ended {
					recorded(t, k.Log, tt.by, string(k.ID), "api_key.revoked")
				}
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	key := func() *account.Key {
		return &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop", Revision: 3,
			CreatedAt: now.Add(-time.Hour)}
	}
	cappedActor := func(by identity.Actor, key identity.KeyID) identity.Actor {
		by.Ceiling, by.Key = identity.Viewer, key
		return by
	}
	elsewhere := actor("ann", identity.Owner)
	elsewhere.Workspace = "other"
	for _, tt := range []struct {
		name string
		by   identity.Actor
		at   revision.Match
		want error
	}{
		{"whose it is may", actor("ann", identity.Member), nil, nil},
		{"an admin may", actor("bob", identity.Admin), nil, nil},
		{"the system may", identity.System("org", "acme", "cli", now), nil, nil},
		{"another member does not see it", actor("bob", identity.Member), nil, account.ErrKeyNotFound},
		{"nor does who has left", actor("ann", identity.NoRole), nil, account.ErrKeyNotFound},
		{"nor another workspace", elsewhere, nil, account.ErrKeyNotFound},
		{"a viewing credential may not end another", cappedActor(actor("ann", identity.Viewer), "another"), nil,
			identity.ErrForbidden},
		{"but itself", cappedActor(actor("ann", identity.Viewer), "k"), nil, nil},
		{"at the revision that is meant", actor("ann", identity.Member), revision.Match{3}, nil},
		{"not at another", actor("ann", identity.Member), revision.Match{2}, revision.ErrMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := key()
			require.ErrorIs(t, of(tt.by).RevokeKey(tt.by, tt.at, k, nil), tt.want)
			if tt.want != nil {
				if !k.RevokedAt.IsZero() || k.Revision != 3 || len(k.Recorded()) != 0 {
					t.Fatalf("got %+v", k)
				}
				return
			}
			if k.RevokedAt != now || k.UpdatedAt != now || k.Revision != 4 || k.Live(now) {
				t.Fatalf("got %+v", k)
			}
			recorded(t, k.Log, tt.by, "k", "api_key.revoked")
		})
	}
	t.Run("again changes nothing", func(t *testing.T) {
		k := key()
		k.RevokedAt = now.Add(-time.Minute)
		require.NoError(t, of(actor("ann", identity.Member)).RevokeKey(actor("ann", identity.Member), nil, k, nil))
		if k.RevokedAt != now.Add(-time.Minute) || k.Revision != 3 || len(k.Recorded()) != 0 {
			t.Fatalf("got %+v", k)
		}
	})
}

func TestLive(t *testing.T) {
	for name, tt := range map[string]struct {
		k    account.Key
		want bool
	}{
		"one without an end":    {account.Key{}, true},
		"one before its end":    {account.Key{ExpiresAt: now.Add(1)}, true},
		"one at its end":        {account.Key{ExpiresAt: now}, false},
		"one that was revoked":  {account.Key{RevokedAt: now.Add(-time.Hour)}, false},
		"revoked before an end": {account.Key{RevokedAt: now, ExpiresAt: now.Add(time.Hour)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "Live", tt.k.Live(now), tt.want)
		})
	}
}
