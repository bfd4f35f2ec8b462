package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Keys is the suite for ports.Keys.
func Keys(t *testing.T, open Opener) {
	a := open(t)
	t.Run("the keys of a workspace", func(t *testing.T) { keysKept(t, a) })
	t.Run("keys and their makers", func(t *testing.T) { keysMade(t, a) })
	t.Run("Rotate", func(t *testing.T) { keyRotated(t, a) })
	t.Run("Principal", func(t *testing.T) { principal(t, a) })
	t.Run("Used", func(t *testing.T) { keyUsed(t, a) })
	t.Run("Requests", func(t *testing.T) { keyRequests(t, a) })
	t.Run("the limits of a key", func(t *testing.T) { keyLimits(t, a) })
	t.Run("Holder", func(t *testing.T) { keyHolder(t, a) })
}

func addKey(t testing.TB, s ports.Stores, by identity.Actor, d account.KeyDraft) *account.Key {
	t.Helper()
	k, _ := fixture.Key(t, s, by, d)
	return k
}

// tryRevoke revokes a key with Update.
func tryRevoke(t testing.TB, s ports.Stores, by identity.Actor, id identity.KeyID) error {
	_, err := s.Keys.Update(t.Context(), by, id, func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
		return w.RevokeKey(by, nil, k, keys)
	})
	return err
}

func revoke(t testing.TB, s ports.Stores, by identity.Actor, id identity.KeyID) {
	t.Helper()
	must(t, tryRevoke(t, s, by, id))
}

// sameKey is same without the hash, which is only looked up and never read.
func sameKey(t testing.TB, got, want *account.Key) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(account.Key{}, "Hash"),
		cmpopts.IgnoreTypes(event.Log{})); d != "" {
		t.Fatalf("key (-want +got):\n%s", d)
	}
}

func keysKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	list := func(user identity.UserID, now time.Time) (ids []identity.KeyID) {
		t.Helper()
		for _, limit := range []int{100, 2} {
			ids = nil
			for _, k := range fixture.Pages(t, limit,
				func(q page.Query) (account.KeyPage, error) { return a.Keys.List(ctx, ws, user, now, q) }) {
				ids = append(ids, k.ID)
			}
		}
		return ids
	}
	deadline := fixture.At.Add(time.Hour)
	first := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "Schlüssel", Ceiling: identity.Viewer,
		ExpiresAt: deadline})
	second := addKey(t, a.Stores, team.Peer, account.KeyDraft{Name: "second"})
	third := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "third"})
	revokedKey := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "revoked"})
	revoke(t, a.Stores, fixture.Later(team.Member, time.Second), revokedKey.ID)
	addKey(t, a.Stores, other.Member, account.KeyDraft{Name: "elsewhere"})

	t.Run("Get returns what Add was given", func(t *testing.T) {
		got, err := a.Keys.Get(ctx, ws, first.ID)
		must(t, err)
		sameKey(t, got, first)
		if got.ExpiresAt != deadline || got.CreatedAt != fixture.At || !got.RevokedAt.IsZero() ||
			!got.LastUsedAt.IsZero() {
			t.Errorf("times = %v, %v, %v, %v", got.ExpiresAt, got.CreatedAt, got.RevokedAt, got.LastUsedAt)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(first.ID))), []string{"api_key.created"})
	})
	t.Run("Get returns a revoked key too", func(t *testing.T) {
		got, err := a.Keys.Get(ctx, ws, revokedKey.ID)
		must(t, err)
		if got.RevokedAt != fixture.At.Add(time.Second) || got.Revision != 2 {
			t.Fatalf("got %+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(revokedKey.ID))),
			[]string{"api_key.revoked", "api_key.created"})
	})
	t.Run("keys of another workspace are not found", func(t *testing.T) {
		for place, id := range map[identity.WorkspaceID]identity.KeyID{other.Workspace.ID: first.ID,
			ws: "key_00000000000000000000000000"} {
			_, err := a.Keys.Get(ctx, place, id)
			wantErr(t, err, account.ErrKeyNotFound)
			by := team.Member
			by.Workspace = place
			_, err = a.Keys.Update(ctx, by, id,
				func(*account.Workspace, *account.Key, []*account.Key) error {
					t.Error("change was called")
					return nil
				})
			wantErr(t, err, account.ErrKeyNotFound)
		}
	})
	t.Run("List returns the live keys, newest first", func(t *testing.T) {
		same(t, "all", list("", fixture.At), []identity.KeyID{third.ID, second.ID, first.ID})
		same(t, "one user's", list(team.Member.User, fixture.At), []identity.KeyID{third.ID, first.ID})
		same(t, "nobody's", list("usr_nobody", fixture.At), []identity.KeyID(nil))
	})
	t.Run("a key is live until the moment it expires", func(t *testing.T) {
		same(t, "before", list("", deadline.Add(-time.Microsecond)), []identity.KeyID{third.ID, second.ID, first.ID})
		same(t, "then", list("", deadline), []identity.KeyID{third.ID, second.ID})
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		_, err := a.Keys.Update(ctx, team.Member, first.ID,
			func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
				return errors.Join(w.RevokeKey(team.Member, nil, k, keys), errBoom)
			})
		wantErr(t, err, errBoom)
		got, err := a.Keys.Get(ctx, ws, first.ID)
		must(t, err)
		sameKey(t, got, first)
		same(t, "events", len(eventsOn(t, a.Stores, ws, string(first.ID))), 1)
	})
	t.Run("of many concurrent revocations one takes effect, and the others see it", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "contended"})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				assert.NoError(t, tryRevoke(t, a.Stores, team.Member, k.ID))
			})
		}
		wg.Wait()
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(k.ID))),
			[]string{"api_key.revoked", "api_key.created"})
	})
}

func principal(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	prove := func(t *testing.T, s ports.Stores, k *account.Key) *account.Principal {
		t.Helper()
		person, err := s.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		return person
	}
	k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})

	t.Run("Principal returns user, membership and key", func(t *testing.T) {
		u, m, err := a.Users.Get(ctx, team.Org, team.Member.User)
		must(t, err)
		for range 2 { // the second may come from the cache
			person := prove(t, a.Stores, k)
			same(t, "user", &person.User, u)
			same(t, "membership", person.Membership, m[0])
			sameKey(t, &person.Key, k)
		}
	})
	t.Run("Principal returns no role for a user who has left", func(t *testing.T) {
		leaves := newcomer(t, a.Stores, team.Org, "leaves@example.com")
		join(t, a.Stores, team.Owner, team.Workspace.ID, leaves, identity.Member)
		leaves.Workspace = team.Workspace.ID
		rest := addKey(t, a.Stores, leaves, account.KeyDraft{Name: "left"})
		must(t, removeMember(t, a.Stores, team.Owner, team.Workspace.ID, leaves.User))
		if person := prove(t, a.Stores, rest); person.Membership.Role != identity.NoRole ||
			person.Membership.Workspace.ID != team.Workspace.ID {
			t.Fatalf("membership = %+v", person.Membership)
		}
	})
	t.Run("Principal does not find an unknown hash or another org's", func(t *testing.T) {
		prove(t, a.Stores, k) // fills the cache
		_, err := a.Keys.Principal(ctx, a.Orgs[1], k.Hash)
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Keys.Principal(ctx, team.Org, account.Hash{1})
		wantErr(t, err, identity.ErrUnauthenticated)
	})
	t.Run("Principal returns an expired key, which the caller must refuse", func(t *testing.T) {
		old := addKey(t, a.Stores, team.Member,
			account.KeyDraft{Name: "old", ExpiresAt: fixture.At.Add(time.Microsecond)})
		if person := prove(t, a.Stores, old); person.Key.ExpiresAt != old.ExpiresAt {
			t.Fatalf("key = %+v", person.Key)
		}
	})
	t.Run("a revoked key is seen as revoked at once", func(t *testing.T) {
		for i := range 20 {
			k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: fmt.Sprint(i)})
			prove(t, a.Stores, k)
			revoke(t, a.Stores, team.Member, k.ID)
			if prove(t, a.Stores, k).Key.RevokedAt.IsZero() {
				t.Fatal("it was still believed")
			}
		}
	})
	t.Run("a caller that polls continuously sees a revocation at once", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "busy"})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = a.Keys.Principal(ctx, team.Org, k.Hash)
					}
				}
			})
		}
		revoke(t, a.Stores, team.Member, k.ID)
		for range 50 {
			if prove(t, a.Stores, k).Key.RevokedAt.IsZero() {
				t.Error("it was still believed")
				break
			}
		}
		close(stop)
		wg.Wait()
	})
	t.Run("a change of the user is seen at once", func(t *testing.T) {
		prove(t, a.Stores, k)
		_, err := a.Users.Update(ctx, team.Org, team.Member.User, func(u *account.User, m []account.Membership) error {
			return u.Change(team.Member, nil, m, account.UserChanges{Name: new("renamed")})
		})
		must(t, err)
		require.Equal(t, "name", prove(t, a.Stores, k).User.Name, "renamed")
	})
	t.Run("another process sees a revocation within a second", func(t *testing.T) {
		k, second := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "far"}), a.Second()
		prove(t, second, k)
		revoke(t, a.Stores, team.Member, k.ID)
		proof.EventuallyWithin(t, "the revocation", time.Second, func() bool {
			return !prove(t, second, k).Key.RevokedAt.IsZero()
		})
	})
	t.Run("a transaction sees its own changes, and a rolled back change is not cached", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "undone"})
		prove(t, a.Stores, k)
		err := a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			revoke(t, tx, team.Member, k.ID)
			if prove(t, tx, k).Key.RevokedAt.IsZero() {
				t.Error("the transaction does not see its own revocation")
			}
			return errBoom
		})
		wantErr(t, err, errBoom)
		if !prove(t, a.Stores, k).Key.RevokedAt.IsZero() {
			t.Fatal("a revocation that never was is believed")
		}
	})
}

func keyUsed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "used"})
	for _, tt := range []struct {
		name string
		org  identity.OrgID
		at   time.Time
		want time.Time
	}{
		{"another org's use is not noted", a.Orgs[1], fixture.At, time.Time{}},
		{"the first use is noted", team.Org, fixture.At, fixture.At},
		{"one within the next minute is not", team.Org, fixture.At.Add(time.Minute - time.Microsecond), fixture.At},
		{"a later one is", team.Org, fixture.At.Add(time.Minute + time.Microsecond),
			fixture.At.Add(time.Minute + time.Microsecond)},
		{"an earlier one is not", team.Org, fixture.At, fixture.At.Add(time.Minute + time.Microsecond)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			must(t, a.Keys.Used(ctx, tt.org,
				map[identity.KeyID]account.KeyUse{k.ID: {At: tt.at, Address: tt.at.String()}}))
			got, err := a.Keys.Get(ctx, team.Workspace.ID, k.ID)
			must(t, err)
			if got.LastUsedAt != tt.want || (!tt.want.IsZero() && got.LastUsedBy != tt.want.String()) ||
				got.Revision != 1 || got.UpdatedAt != fixture.At {
				t.Fatalf("got %+v", got)
			}
		})
	}
	t.Run("Used records many keys, and ignores one that does not exist", func(t *testing.T) {
		instant := fixture.At.Add(time.Hour)
		uses := map[identity.KeyID]account.KeyUse{"key_nobody": {At: instant}}
		for i := range 3 {
			extra := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: fmt.Sprint("used ", i)})
			uses[extra.ID] = account.KeyUse{At: instant.Add(time.Duration(i) * time.Second)}
		}
		must(t, a.Keys.Used(ctx, team.Org, uses))
		delete(uses, "key_nobody")
		for id, want := range uses {
			if got, err := a.Keys.Get(ctx, team.Workspace.ID, id); err != nil || got.LastUsedAt != want.At {
				t.Errorf("last used %v, %v; want %v", got.LastUsedAt, err, want.At)
			}
		}
	})
	t.Run("Used accepts an empty list", func(t *testing.T) { must(t, a.Keys.Used(ctx, team.Org, nil)) })
}
