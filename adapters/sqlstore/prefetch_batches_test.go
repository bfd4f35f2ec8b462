package sqlstore_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
)

// lookUp is a request that looks up a key, and reads a version.
type lookUp struct {
	by    identity.Actor
	key   identity.KeyID
	hash  account.Hash
	ctx   context.Context
	found *account.Principal
	err   error
}

func (f *prefetchTeam) lookUp(t *testing.T, by identity.Actor, ref prompt.Ref) *lookUp {
	t.Helper()
	k, _ := fixture.Key(t, f.s, by, account.KeyDraft{Name: "k"})
	return &lookUp{by: by, key: k.ID, hash: k.Hash, ctx: context.WithValue(t.Context(), ports.VersionPrefetchKey{},
		&ports.VersionPrefetch{Template: f.id, Ref: ref})}
}

// findAtOnce looks up keys, while all of them wait for a statement that runs. It returns the number of statements.
func (f *prefetchTeam) findAtOnce(t *testing.T, lookUps ...*lookUp) int {
	t.Helper()
	release := sqlstore.HoldPrefetches(f.db, f.Org, ports.VersionPrefetchOf(lookUps[0].ctx))
	var finding sync.WaitGroup
	for _, l := range lookUps {
		finding.Go(func() { l.found, l.err = f.s.Keys.Principal(l.ctx, f.Org, l.hash) })
	}
	for late := time.Now().Add(proof.Patience); sqlstore.WaitingPrefetches(f.db) < len(lookUps); {
		if time.Now().After(late) {
			t.Fatalf("%d look-ups wait, want %d", sqlstore.WaitingPrefetches(f.db), len(lookUps))
		}
		time.Sleep(time.Millisecond)
	}
	f.sent.Take()
	release()
	finding.Wait()
	return len(f.sent.Take())
}

// check checks the principal of a look-up.
func (l *lookUp) check(t *testing.T) {
	t.Helper()
	if p := l.found; l.err != nil || p.User.ID != l.by.User || p.Key.ID != l.key || p.Membership.Role != l.by.Role ||
		p.Membership.Workspace.ID != l.by.Workspace {
		t.Errorf("the principal of %s is %+v, %v", l.by.User, p, l.err)
	}
}

func TestKeysThatAreLookedUpAtTheSameTimeAreFoundByOneStatement(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		fixture.Share(t, f.s, f.Member, f.id, prompt.Grant{User: f.Peer.User, Role: access.Viewer})
		all := []identity.Actor{f.Member, f.Admin, f.Peer, f.Viewer, f.Peer, f.Member}
		for _, n := range []int{2, 4, 6} { // with and without a repeated argument
			for _, ref := range []prompt.Ref{{Active: true}, {Label: "stable"}, {Number: 3}} {
				lookUps := make([]*lookUp, n)
				for i := range lookUps {
					lookUps[i] = f.lookUp(t, all[i], ref)
				}
				if statements := f.findAtOnce(t, lookUps...); statements != 1 {
					t.Errorf("%d keys were found by %d statements", n, statements)
				}
				for _, l := range lookUps {
					l.check(t)
					want := f.read(t.Context(), t, l.by, f.id, ref) // the content of the version is cached then
					if got := f.read(l.ctx, t, l.by, f.id, ref); !reflect.DeepEqual(got, want) {
						t.Errorf("%s read %+v %+v, want %+v %+v", l.by.User, got.reading, got.version, want.reading,
							want.version)
					}
					if again := f.sent.Take(); len(again) > 0 {
						t.Errorf("the version was read again: %v", again)
					}
				}
			}
		}
	})
}

func TestAKeyThatIsNotFoundDoesNotKeepOthersFromBeingFound(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		if err := sqlstore.Exec(t.Context(), f.db, `UPDATE users SET name = ? WHERE id = ?`, "a\x1fb",
			f.Viewer.User); err != nil {
			t.Fatal(err)
		}
		active := prompt.Ref{Active: true}
		known, byColumns := f.lookUp(t, f.Member, active), f.lookUp(t, f.Viewer, active)
		unknown := f.lookUp(t, f.Member, active)
		unknown.hash = account.Hash{1}
		f.findAtOnce(t, known, unknown, byColumns)
		known.check(t)
		byColumns.check(t)
		if wanted := ports.VersionPrefetchOf(unknown.ctx); !errors.Is(unknown.err, identity.ErrUnauthenticated) ||
			wanted.Found != nil {
			t.Errorf("an unknown key: %+v, %v, %v", unknown.found, unknown.err, wanted.Found)
		}
	})
}
