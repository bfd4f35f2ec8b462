package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func keysMade(t *testing.T, a Adapter) {
	t.Run("change gets the live keys and the workspace as they are when it is called",
		func(t *testing.T) { keysCounted(t, a) })
	t.Run("keys end with the key that created them", func(t *testing.T) { keysDescend(t, a) })
	t.Run("a removed member can make no key, even concurrently", func(t *testing.T) { keysRaceRemoval(t, a) })
	t.Run("concurrent calls cannot exceed the quota of keys", func(t *testing.T) { keysRaceQuota(t, a) })
}

func keysCounted(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	by := fixture.Later(team.Admin, time.Hour)
	k := addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "lives"})
	addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "expired", ExpiresAt: by.At})
	revoke(t, a.Stores, team.Admin, addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "revoked"}).ID)
	addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "another's"})
	for range 2 {
		fixture.ServiceKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "program", Ceiling: identity.Viewer})
	}
	for key, maker := range map[identity.KeyID]bool{"": false, k.ID: true, "key_00000000000000000000000000": false} {
		by := by
		by.Key = key
		wantErr(t, a.Keys.Add(ctx, by, by.User, func(w *account.Workspace) (*account.User, *account.Key, error) {
			same(t, "live", w.Live, account.LiveKeys{User: 1, Programs: 2, Maker: maker})
			if w.ID != team.Workspace.ID || len(w.Members) != 1 || w.Members[by.User].Role != identity.Admin {
				t.Errorf("workspace = %+v", w)
			}
			_, _, err := w.NewKey(by, identity.KeyPolicy{}, by.User, account.KeyDraft{Name: "lost"})
			if (err == nil) != (key == "" || maker) {
				t.Errorf("by %q: %v", key, err)
			}
			return nil, nil, errBoom
		}), errBoom)
	}
	t.Run("no key is stored if change fails", func(t *testing.T) {
		all, err := a.Keys.List(ctx, team.Workspace.ID, "", by.At, page.Query{Limit: 100})
		must(t, err)
		same(t, "keys", len(all.Items), 4)
	})
	t.Run("the user of a new service key is a member", func(t *testing.T) {
		u, k := fixture.ServiceKey(t, a.Stores, by, account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
		got, m, err := a.Users.Get(ctx, team.Org, u.ID)
		must(t, err)
		same(t, "user", got, u)
		same(t, "memberships", m, []account.Membership{{Workspace: team.Workspace, Role: identity.Member,
			ByHand: identity.Member}})
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(u.ID))), []string{"user.created"})
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(k.ID))), []string{"api_key.created"})
	})
	t.Run("a workspace of another org is not found", func(t *testing.T) {
		for _, ws := range []identity.WorkspaceID{other.Workspace.ID, "wsp_00000000000000000000000000", ""} {
			by := by
			by.Workspace = ws
			_, _, err := fixture.TryKey(t, a.Stores, by, account.KeyDraft{Name: "lost"})
			wantErr(t, err, identity.ErrWorkspaceNotFound)
		}
	})
}

func keysDescend(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := fixture.Later(team.Admin, time.Hour)
	newKey := func(person identity.Actor, maker *account.Key) *account.Key {
		t.Helper()
		if maker != nil {
			person.Key = maker.ID
		}
		return addKey(t, a.Stores, person, account.KeyDraft{Name: "k"})
	}
	hasEnded := func(k *account.Key) bool {
		t.Helper()
		got, err := a.Keys.Get(ctx, team.Workspace.ID, k.ID)
		must(t, err)
		isReported := kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(k.ID)))[0] == "api_key.revoked"
		same(t, "told", isReported, got.RevokedAt.Equal(by.At))
		person, err := a.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		same(t, "believed to be revoked", !person.Key.RevokedAt.IsZero(), isReported)
		return isReported
	}
	family := func() (root, child, grandchild, programs, successor *account.Key) {
		root = newKey(team.Admin, nil)
		child = newKey(team.Admin, root)
		grandchild = newKey(team.Admin, child)
		maker := team.Admin
		maker.Key = child.ID
		_, programs = fixture.ServiceKey(t, a.Stores, maker,
			account.KeyDraft{Name: "program", Ceiling: identity.Member})
		successor, err := rotate(t, a.Stores, team.Admin, grandchild.ID, time.Minute) // it expires before by.At
		must(t, err)
		return root, child, grandchild, programs, successor
	}
	t.Run("revoking a key ends all its descendants, service keys and successors too, and no other key",
		func(t *testing.T) {
			root, child, grandchild, programs, successor := family()
			sibling, others := newKey(team.Admin, nil), newKey(team.Peer, nil)
			for _, k := range []*account.Key{root, child, grandchild, programs, successor, sibling, others} {
				if hasEnded(k) {
					t.Errorf("%s ended before", k.ID)
				}
			}
			revoke(t, a.Stores, by, child.ID)
			for k, want := range map[*account.Key]bool{root: false, child: true, grandchild: false, programs: true,
				successor: true, sibling: false, others: false} {
				same(t, "ended", hasEnded(k), want) // the grandchild had expired
			}
			same(t, "made by", func() identity.KeyID {
				got, err := a.Keys.Get(ctx, team.Workspace.ID, programs.ID)
				must(t, err)
				return got.MadeBy
			}(), child.ID)
		})
	t.Run("no key ends if change fails", func(t *testing.T) {
		root, child, _, _, _ := family()
		_, err := a.Keys.Update(ctx, by, root.ID,
			func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
				same(t, "made", len(keys), 4)
				return errors.Join(w.RevokeKey(by, nil, k, keys), errBoom)
			})
		wantErr(t, err, errBoom)
		same(t, "ended", []bool{hasEnded(root), hasEnded(child)}, []bool{false, false})
	})
	t.Run("all keys created by a member's keys end with the membership", func(t *testing.T) {
		_, child, _, programs, successor := family()
		by = fixture.Later(team.Owner, time.Hour)
		must(t, removeMember(t, a.Stores, by, team.Workspace.ID, team.Admin.User))
		same(t, "ended", []bool{hasEnded(child), hasEnded(programs), hasEnded(successor)}, []bool{true, true, true})
	})
}

// keysRaceRemoval creates keys in every possible way as a member who is being removed. Keys created before the removal
// must end, and later ones must be refused.
func keysRaceRemoval(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	for round := range 8 {
		person := newcomer(t, a.Stores, team.Org, fmt.Sprint("racer-", round, "@example.com"))
		join(t, a.Stores, team.Owner, ws, person, identity.Owner)
		person.Workspace, person.Role = ws, identity.Owner // as the credential said a moment ago
		rotatedKey := addKey(t, a.Stores, person, account.KeyDraft{Name: "rotated"})
		tries := []func() error{
			func() error {
				_, _, err := fixture.TryKey(t, a.Stores, person, account.KeyDraft{Name: "k"})
				return err
			},
			func() error { _, err := rotate(t, a.Stores, person, rotatedKey.ID, time.Hour); return err },
			func() error {
				_, _, err := fixture.TryServiceKey(t, a.Stores, person,
					account.KeyDraft{Name: "svc", Ceiling: identity.Owner})
				return err
			},
		}
		errs := atOnce(8, func(i int) error {
			if i == round%8 {
				return removeMember(t, a.Stores, team.Owner, ws, person.User)
			}
			err := tries[i%3]()
			if errors.Is(err, identity.ErrWorkspaceNotFound) || errors.Is(err, account.ErrKeyNotFound) ||
				errors.Is(err, account.ErrKeyInactive) {
				return nil // the removal was faster
			}
			return err
		})
		must(t, errors.Join(errs...))
		live, err := a.Keys.List(ctx, ws, person.User, person.At, page.Query{Limit: 100})
		must(t, err)
		same(t, "live keys after the removal", len(live.Items), 0)
		for i, want := range []error{identity.ErrWorkspaceNotFound, account.ErrKeyNotFound,
			identity.ErrWorkspaceNotFound} {
			wantErr(t, tries[i](), want)
		}
	}
}

func keysRaceQuota(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	for range account.MaxKeys - 3 {
		addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
	}
	var mu sync.Mutex
	newCount := 0
	for _, err := range atOnce(8, func(int) error {
		_, _, err := fixture.TryKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			newCount++
		}
		return err
	}) {
		if err != nil {
			wantErr(t, err, account.ErrTooManyKeys)
		}
	}
	same(t, "made", newCount, 3)
	addKey(t, a.Stores, team.Peer, account.KeyDraft{Name: "another's"})
}
