package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/idempotency"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestIdempotencyBesideTheReleasedVersion plays two stores on a database of v0.1.0, before and after derived keys
// are used: each finds what the other stored, and what v0.1.0 did.
func TestIdempotencyBesideTheReleasedVersion(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := adapter(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		check := open(t, url, databases.Keyring(t))
		if _, err := check.KeyringCheck(ctx, []byte("check")); err != nil {
			t.Fatal(err)
		}
		start := fixture.At.Add(24 * time.Hour)
		storeSince := func(startAt time.Time) *idempotency.Store {
			if _, err := databases.Raw(t, url).ExecContext(ctx, `UPDATE keyring SET derived_at = `+
				itoa(startAt.UnixMicro())); err != nil {
				t.Fatal(err)
			}
			db := open(t, url, databases.Keyring(t))
			if got, err := db.DerivedSince(ctx); err != nil || !got.Equal(startAt) {
				t.Fatalf("DerivedSince = %v, %v", got, err)
			}
			return sqlstore.NewIdempotency(db)
		}
		store := storeSince(start)
		previous, end := start.Add(-time.Hour), start.Add(time.Hour)
		key := func(name, body string, instant time.Time) ports.IdempotencyKey {
			name = team.Workspace.Slug + name
			d := fixture.Digester{}
			return ports.IdempotencyKey{
				Org: team.Org, At: instant, Scope: d.Digest("scope", []byte(name)),
				Request: d.Digest("request", []byte(body)),
				Plain:   ports.PlainDigests{Scope: sha256.Sum256([]byte(name)), Request: sha256.Sum256([]byte(body))},
			}
		}
		// of is how v0.1.0 stores key: it knows plain digests only.
		keyOf := func(k ports.IdempotencyKey) ports.IdempotencyKey {
			return ports.IdempotencyKey{Org: k.Org, At: k.At, Scope: k.Plain.Scope, Request: k.Plain.Request}
		}
		secret := func(k ports.IdempotencyKey) ports.IdempotencyKey { k.Secret = true; return k }
		release := sqlstore.NewIdempotency(open(t, url, databases.Keyring(t))) // it was told of no day to wait for
		flagOf := func(t *testing.T, s *idempotency.Store, k ports.IdempotencyKey) (isReplay bool, err error) {
			t.Helper()
			_, isReplay, err = s.Once(ctx, k, nil,
				func(ports.Stores) (ports.Answer, error) { return ports.Answer{Status: 204}, nil },
				func(error) (ports.Answer, bool) { return ports.Answer{}, false })
			return isReplay, err
		}
		for name, tt := range map[string]struct {
			first, second func(k ports.IdempotencyKey) (bool, error)
			want          error
		}{
			"v0.1.0, then this": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, release, keyOf(k)) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) }, nil},
			"v0.1.0, then this, a secret": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, release, keyOf(k)) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, secret(k)) }, nil},
			"this, then v0.1.0": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, release, keyOf(k)) }, nil},
			"this, then v0.1.0, a secret": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, secret(k)) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, release, keyOf(k)) }, ports.ErrKeyReused},
			"this twice": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) }, nil},
			"this twice, a secret": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, secret(k)) },
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, secret(k)) }, nil},
			"this, and after the day": {
				func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) },
				func(k ports.IdempotencyKey) (bool, error) { k.At = end; return flagOf(t, store, k) }, nil},
			"after the day, then a clock that is behind": {func(k ports.IdempotencyKey) (bool, error) {
				k.At = end
				return flagOf(t, store, k)
			}, func(k ports.IdempotencyKey) (bool, error) { return flagOf(t, store, k) }, nil},
		} {
			t.Run(name, func(t *testing.T) {
				k := key(name, "body", previous)
				if isReplay, err := tt.first(k); err != nil || isReplay {
					t.Fatalf("first: replayed %v, %v", isReplay, err)
				}
				if isReplay, err := tt.second(k); !errors.Is(err, tt.want) || isReplay != (tt.want == nil) {
					t.Errorf("second: replayed %v, %v", isReplay, err)
				}
				other := key(name, "another body", previous)
				if isReplay, err := flagOf(t, store, other); !errors.Is(err, ports.ErrKeyReused) {
					t.Errorf("another request: replayed %v, %v", isReplay, err)
				}
			})
		}
		count := func(t *testing.T, digest [32]byte) (n int) {
			t.Helper()
			query := `SELECT COUNT(*) FROM idempotency_keys WHERE request = x'` + hexOf(digest) + `' OR scope = x'` +
				hexOf(digest) + `'`
			if check.Engine() == "postgres" {
				query = `SELECT COUNT(*) FROM idempotency_keys WHERE request = '\x` + hexOf(digest) +
					`' OR scope = '\x` + hexOf(digest) + `'`
			}
			require.NoError(t, databases.Raw(t, url).QueryRowContext(ctx, query).Scan(&n))
			return n
		}
		t.Run("the plain digest of a secret is never stored, and after the day none is", func(t *testing.T) {
			brought := secret(key("brought", "secret body", previous))
			laterKey := key("later", "late body", end)
			for _, k := range []ports.IdempotencyKey{brought, laterKey} {
				if _, err := flagOf(t, store, k); err != nil {
					t.Fatal(err)
				}
			}
			for name, digest := range map[string][32]byte{"a secret": brought.Plain.Request,
				"a body": laterKey.Plain.Request, "a scope": laterKey.Plain.Scope} {
				if n := count(t, digest); n != 0 {
					t.Errorf("the plain digest of %s is stored", name)
				}
			}
			if count(t, brought.Request) != 1 || count(t, laterKey.Request) != 1 || count(t, laterKey.Scope) != 1 {
				t.Error("the keyed digests are not stored")
			}
		})
		t.Run("an answer that can be read again is kept whole for v0.1.0", func(t *testing.T) {
			for instant, want := range map[time.Time]string{previous: "whole", end: ""} {
				k := key("readable"+want, "body", instant)
				_, _, err := store.Once(ctx, k, nil, func(ports.Stores) (ports.Answer, error) {
					return ports.Answer{Status: 201, Body: []byte("whole"), Shows: "/api/thing"}, nil
				}, nil)
				require.NoError(t, err)
				got, isReplay, err := store.Once(ctx, k, nil, nil, nil)
				if err != nil || !isReplay || string(got.Body) != want || (got.Shows == "") != (want != "") {
					t.Errorf("%+v, %v, %v", got, isReplay, err)
				}
			}
		})
		t.Run("an answer that shows a secret opens for both", func(t *testing.T) {
			k := key("shows", "body", previous)
			_, _, err := store.Once(ctx, k, nil, func(ports.Stores) (ports.Answer, error) {
				return ports.Answer{Status: 201, Body: []byte("shown"), Reveals: "thing"}, nil
			}, nil)
			require.NoError(t, err)
			got, isReplay, err := store.Once(context.WithoutCancel(ctx), k, nil, nil, nil)
			if err != nil || !isReplay || string(got.Body) != "shown" {
				t.Errorf("%+v, %v, %v", got, isReplay, err)
			}
		})
	})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func hexOf(digest [32]byte) string { return hex.EncodeToString(digest[:]) }
