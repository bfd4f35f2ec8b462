package account_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// in returns a person in acme, without a key, whose role comes from the store.
func in(user identity.UserID, role identity.Role) identity.Actor {
	by := person(user)
	by.Workspace, by.Role = "acme", role
	return by
}

func TestNewServiceKey(t *testing.T) {
	t.Run("it has a user of its own, whose role is its ceiling", func(t *testing.T) {
		by := in("ada", identity.Admin)
		u, k, token, err := of(by).NewServiceKey(by, identity.KeyPolicy{},
			account.KeyDraft{Name: "deploys", Ceiling: identity.Member, ExpiresAt: later.Add(time.Hour)})
		require.NoError(t, err)
		if !id.Valid(identity.UserPrefix, string(u.ID)) || u.Org != "org" || u.Email != "" || u.EmailVerified ||
			u.Name != "deploys" || !u.Service || u.Operator || u.Revision != 1 || u.CreatedAt != later {
			t.Errorf("user %+v", u)
		}
		if k.User != u.ID || !k.Service || k.Name != "deploys" || k.Ceiling != identity.Member ||
			k.CreatedBy != "ada" || k.Workspace != "acme" || k.Hash != token.Hash() ||
			k.ExpiresAt != later.Add(time.Hour) {
			t.Errorf("key %+v", k)
		}
		recorded(t, u.Log, by, string(u.ID), "user.created")
		recorded(t, k.Log, by, string(k.ID), "api_key.created")
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		d    account.KeyDraft
		want error
	}{
		"an owner makes an owner's": {in("bob", identity.Owner),
			account.KeyDraft{Name: "k", Ceiling: identity.Owner}, nil},
		"an admin makes an admin's": {in("ada", identity.Admin),
			account.KeyDraft{Name: "k", Ceiling: identity.Admin}, nil},
		"an admin makes no owner's": {in("ada", identity.Admin),
			account.KeyDraft{Name: "k", Ceiling: identity.Owner}, identity.ErrRoleCeiling},
		"a member makes none": {in("ann", identity.Member),
			account.KeyDraft{Name: "k", Ceiling: identity.Viewer}, identity.ErrForbidden},
		"nor does who is capped": {actor("bob", identity.Member),
			account.KeyDraft{Name: "k", Ceiling: identity.Viewer}, identity.ErrForbidden},
		"a member is not told what it lacks": {in("ann", identity.Member), account.KeyDraft{}, identity.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			u, k, token, err := of(tt.by).NewServiceKey(tt.by, identity.KeyPolicy{}, tt.d)
			require.ErrorIs(t, err, tt.want)
			if isNew := tt.want == nil; (u != nil) != isNew || (k != nil) != isNew || token.IsZero() == isNew {
				t.Errorf("made %+v, %+v", u, k)
			}
		})
	}
	for name, tt := range map[string]struct {
		d    account.KeyDraft
		want []string
	}{
		"it says its role": {account.KeyDraft{Name: "k"}, []string{"/role_ceiling required"}},
		"it has a name":    {account.KeyDraft{Ceiling: identity.Viewer}, []string{"/name too_short"}},
		"it ends some time": {account.KeyDraft{Name: "k", Ceiling: identity.Viewer, ExpiresAt: later},
			[]string{"/expires_at in_the_past"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := of(in("ada", identity.Admin)).NewServiceKey(in("ada", identity.Admin),
				identity.KeyPolicy{}, tt.d)
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), tt.want)
		})
	}
}

func TestRotate(t *testing.T) {
	const hour = time.Hour
	key := func(change func(*account.Key)) *account.Key {
		k := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: "laptop", Ceiling: identity.Member,
			Hash: account.Hash{1}, Revision: 3, CreatedAt: now, UpdatedAt: now}
		if change != nil {
			change(k)
		}
		return k
	}
	service := func(k *account.Key) { k.Service, k.User = true, "svc" }
	wait := func(now time.Time) func(*account.Key) { return func(k *account.Key) { k.ExpiresAt = now } }
	itself := func(role identity.Role, key identity.KeyID, end time.Time) identity.Actor {
		by := in("ann", role)
		by.Ceiling, by.Key, by.KeyUntil = role, key, end
		return by
	}
	elsewhere := in("ann", identity.Owner)
	elsewhere.Workspace = "other"
	for name, tt := range map[string]struct {
		by    identity.Actor
		at    revision.Match
		k     func(*account.Key)
		grace time.Duration
		want  error
		ends  time.Time // of the old one
		next  time.Time // of the new one; zero: never
	}{
		"whose it is may": {in("ann", identity.Member), revision.Match{3}, nil, hour, nil,
			later.Add(hour), time.Time{}},
		"without grace it ends at once": {in("ann", identity.Member), nil, nil, 0, nil, later, time.Time{}},
		"the new one ends when the old one did": {in("ann", identity.Owner), nil, wait(later.Add(9 * hour)), hour,
			nil, later.Add(hour), later.Add(9 * hour)},
		"grace lengthens nothing": {in("ann", identity.Member), nil, wait(later.Add(hour)), 9 * hour,
			nil, later.Add(hour), later.Add(hour)},
		"it may rotate itself": {itself(identity.Member, "k", later.Add(hour)), nil,
			wait(later.Add(hour)), 0, nil, later, later.Add(hour)},
		"not if it can but view": {itself(identity.Viewer, "k", time.Time{}), nil,
			func(k *account.Key) { k.Ceiling = identity.Viewer }, 0, identity.ErrForbidden, time.Time{}, time.Time{}},
		"and then no other": {itself(identity.Viewer, "other", time.Time{}), nil,
			func(k *account.Key) { k.Ceiling = identity.Viewer }, 0, identity.ErrForbidden, time.Time{}, time.Time{}},
		"a key that lives shorter makes none": {itself(identity.Member, "other", later.Add(hour)), nil,
			wait(later.Add(2 * hour)), 0, identity.ErrRoleCeiling, time.Time{}, time.Time{}},
		"or one that ends with it": {itself(identity.Member, "other", later.Add(hour)), nil, nil, 0, nil,
			later, later.Add(hour)},
		"a key that allows less makes none": {itself(identity.Member, "other", time.Time{}), nil,
			func(k *account.Key) { k.Ceiling = identity.Admin }, 0, identity.ErrRoleCeiling, time.Time{}, time.Time{}},
		"who was lowered gets no more back": {in("ann", identity.Viewer), nil,
			func(k *account.Key) { k.Ceiling = identity.Admin }, 0, identity.ErrRoleCeiling, time.Time{}, time.Time{}},
		"an owner does not rotate a person's": {in("bob", identity.Owner), nil, nil, 0, identity.ErrForbidden,
			time.Time{}, time.Time{}},
		"an admin rotates a service key": {in("ada", identity.Admin), nil, service, hour, nil, later.Add(hour),
			time.Time{}},
		"but none above their own role": {in("ada", identity.Admin), nil,
			func(k *account.Key) { service(k); k.Ceiling = identity.Owner }, 0, identity.ErrRoleCeiling, time.Time{},
			time.Time{}},
		"a member does not see it": {in("ann", identity.Member), nil, service, 0, account.ErrKeyNotFound,
			time.Time{}, time.Time{}},
		"another member does not see a person's": {in("mia", identity.Member), nil, nil, 0, account.ErrKeyNotFound,
			time.Time{}, time.Time{}},
		"nor does who has left": {in("ann", identity.NoRole), nil, nil, 0, account.ErrKeyNotFound, time.Time{},
			time.Time{}},
		"nor another workspace": {elsewhere, nil, nil, 0, account.ErrKeyNotFound, time.Time{}, time.Time{}},
		"another revision was meant": {in("ann", identity.Member), revision.Match{2}, nil, 0, revision.ErrMismatch,
			time.Time{}, time.Time{}},
		"a revoked one has no successor": {in("ann", identity.Member), nil, func(k *account.Key) { k.RevokedAt = now },
			hour, account.ErrKeyInactive, time.Time{}, time.Time{}},
		"nor one that has expired": {in("ann", identity.Member), nil, wait(later), hour, account.ErrKeyInactive,
			time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			k, previous := key(tt.k), key(tt.k)
			next, token, err := of(tt.by).RotateKey(tt.by, identity.KeyPolicy{}, tt.at, k, tt.grace)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if next != nil || !token.IsZero() || k.Revision != 3 || k.ExpiresAt != previous.ExpiresAt ||
					len(k.Recorded()) != 0 {
					t.Fatalf("got %+v, and a successor %+v", k, next)
				}
				return
			}
			if k.ExpiresAt != tt.ends || !k.RevokedAt.IsZero() || k.Revision != 4 || k.UpdatedAt != later ||
				k.Hash != previous.Hash || k.Live(tt.ends) || (tt.grace > 0 && !k.Live(later)) {
				t.Errorf("the old one %+v", k)
			}
			if next.ID == k.ID || next.Hash != token.Hash() || next.Hash == k.Hash || next.User != k.User ||
				next.Service != k.Service || next.Name != k.Name || next.Ceiling != k.Ceiling ||
				next.Workspace != "acme" || next.Org != "org" || next.ExpiresAt != tt.next ||
				next.CreatedBy != tt.by.User || next.Revision != 1 || !next.Live(later) {
				t.Errorf("the new one %+v", next)
			}
			recorded(t, k.Log, tt.by, "k", "api_key.rotated")
			if data := k.Recorded()[0].Data; data["replaced_by"] != next.ID ||
				data["grace_seconds"] != int(tt.grace.Seconds()) || len(data) != 2 {
				t.Errorf("data = %v", data)
			}
			recorded(t, next.Log, tt.by, string(next.ID), "api_key.created")
		})
	}
	t.Run("a successor allows no more, and lives no longer, than the key and who rotated it", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			occasion := rapid.SampledFrom([]time.Time{{}, later.Add(time.Minute), later.Add(hour)})
			by := itself(everyRole.Draw(t, "role"),
				identity.KeyID(rapid.SampledFrom([]string{"k", "other"}).Draw(t, "by key")), occasion.Draw(t, "until"))
			k := key(wait(occasion.Draw(t, "ends")))
			k.Ceiling = rapid.SampledFrom([]identity.Role{identity.Viewer, identity.Member, identity.Admin,
				identity.Owner}).Draw(t, "ceiling")
			ended := k.ExpiresAt
			next, _, err := of(by).RotateKey(by, identity.KeyPolicy{}, nil, k,
				time.Duration(rapid.IntRange(0, 86400).Draw(t, "grace"))*time.Second)
			if err != nil {
				return
			}
			for _, end := range []time.Time{ended, by.KeyUntil} {
				if !end.IsZero() && (next.ExpiresAt.IsZero() || next.ExpiresAt.After(end)) {
					t.Fatalf("it ends %v, after %v", next.ExpiresAt, end)
				}
			}
			if (!ended.IsZero() && k.ExpiresAt.After(ended)) || next.Ceiling > k.Ceiling || next.Ceiling > by.Ceiling ||
				next.Ceiling > max(by.Role, identity.Member) {
				t.Fatalf("%s made %s of %s until %v", by.Role, next.Ceiling, k.Ceiling, k.ExpiresAt)
			}
		})
	})
}
