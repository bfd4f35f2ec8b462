package contract

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// rotate rotates a key as by.
func rotate(
	t testing.TB, s ports.Stores, by identity.Actor, id identity.KeyID, grace time.Duration,
) (next *account.Key, err error) {
	err = s.Keys.Rotate(t.Context(), by, id, func(w *account.Workspace, k *account.Key) (*account.Key, error) {
		next, _, err = w.RotateKey(by, identity.KeyPolicy{}, nil, k, grace)
		return next, err
	})
	return next, err
}

func keyRotated(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, by := team.Workspace.ID, fixture.Later(team.Member, time.Hour)
	prove := func(s ports.Stores, k *account.Key) account.Key {
		t.Helper()
		person, err := s.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		return person.Key
	}
	t.Run("the successor is stored, and the old key ends with its grace period", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k", Ceiling: identity.Viewer})
		prove(a.Stores, k) // fills the cache
		next, err := rotate(t, a.Stores, by, k.ID, time.Minute)
		must(t, err)
		got, err := a.Keys.Get(ctx, ws, next.ID)
		must(t, err)
		sameKey(t, got, next)
		old := prove(a.Stores, k)
		if old.ID != k.ID || old.ExpiresAt != by.At.Add(time.Minute) || old.Revision != 2 || old.UpdatedAt != by.At ||
			!old.RevokedAt.IsZero() {
			t.Errorf("the old one %+v", old)
		}
		if user := prove(a.Stores, next); user.ID != next.ID || user.User != k.User || user.Ceiling != identity.Viewer {
			t.Errorf("the new one %+v", user)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(k.ID))),
			[]string{"api_key.rotated", "api_key.created"})
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(next.ID))), []string{"api_key.created"})
	})
	t.Run("the successor of a service key is a service key", func(t *testing.T) {
		u, k := fixture.ServiceKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
		next, err := rotate(t, a.Stores, team.Admin, k.ID, 0)
		must(t, err)
		got, err := a.Keys.Get(ctx, ws, next.ID)
		must(t, err)
		sameKey(t, got, next)
		if !got.Service || got.User != u.ID {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("keys of another workspace are not found", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
		for place, id := range map[identity.WorkspaceID]identity.KeyID{other.Workspace.ID: k.ID,
			ws: "key_00000000000000000000000000"} {
			by := by
			by.Workspace = place
			wantErr(t, a.Keys.Rotate(ctx, by, id, func(*account.Workspace, *account.Key) (*account.Key, error) {
				t.Error("change was called")
				return nil, errBoom
			}), account.ErrKeyNotFound)
		}
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
		var next *account.Key
		wantErr(t, a.Keys.Rotate(ctx, by, k.ID, func(w *account.Workspace, k *account.Key) (_ *account.Key, err error) {
			next, _, err = w.RotateKey(by, identity.KeyPolicy{}, nil, k, 0)
			return next, errors.Join(err, errBoom)
		}), errBoom)
		_, err := a.Keys.Get(ctx, ws, next.ID)
		wantErr(t, err, account.ErrKeyNotFound)
		got, err := a.Keys.Get(ctx, ws, k.ID)
		must(t, err)
		sameKey(t, got, k)
	})
	t.Run("the stored response with the old token is erased", func(t *testing.T) {
		var k *account.Key
		key := ports.IdempotencyKey{Org: team.Org, Scope: sha256.Sum256([]byte("rotated")), At: fixture.At}
		_, _, err := a.Idempotency.Once(ctx, key, nil, func(s ports.Stores) (ports.Answer, error) {
			k = addKey(t, s, team.Member, account.KeyDraft{Name: "shown"})
			return ports.Answer{Status: 201, Body: []byte("token"), Reveals: string(k.ID)}, nil
		}, nil)
		must(t, err)
		_, err = rotate(t, a.Stores, by, k.ID, time.Hour)
		must(t, err)
		_, _, err = a.Idempotency.Once(ctx, key, nil,
			func(ports.Stores) (ports.Answer, error) { t.Error("it ran again"); return ports.Answer{}, errBoom }, nil)
		wantErr(t, err, ports.ErrAnswerErased)
	})
	t.Run("of many concurrent rotations without grace one creates a successor", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "contended"})
		previous, err := a.Keys.List(ctx, ws, team.Member.User, by.At, page.Query{Limit: 100})
		must(t, err)
		oneWon(t, atOnce(16, func(int) error { _, err := rotate(t, a.Stores, by, k.ID, 0); return err }),
			account.ErrKeyInactive)
		current, err := a.Keys.List(ctx, ws, team.Member.User, by.At, page.Query{Limit: 100})
		must(t, err)
		same(t, "live keys", len(current.Items), len(previous.Items)) // one ended, one was created
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(k.ID))),
			[]string{"api_key.rotated", "api_key.created"})
	})
}
