package sqlstore_test

import (
	"crypto/sha256"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestAnIdempotencyKeyCostsTwoStatements compares a request with a key, and the same one without: the key is reserved
// and its answer is recorded in the transaction of the effect, so there is no other commit.
func TestAnIdempotencyKeyCostsTwoStatements(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(ctx, []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		by := fixture.NewTeam(t, s, orgs["one"]).Member
		create := func(tx ports.Stores, name string) error {
			made, err := prompt.New(by, prompt.Draft{Name: name})
			if err != nil {
				return err
			}
			return tx.Prompts.Add(ctx, made)
		}
		sent.Take()
		if err := s.Atomic.Atomically(ctx, func(tx ports.Stores) error { return create(tx, "plain") }); err != nil {
			t.Fatal(err)
		}
		plain := len(sent.Take())
		key := ports.IdempotencyKey{Org: by.Org, Scope: sha256.Sum256([]byte("scope")), At: fixture.At}
		if _, _, err := sqlstore.NewIdempotency(db).Once(ctx, key, nil, func(tx ports.Stores) (ports.Answer, error) {
			return ports.Answer{Status: 201}, create(tx, "with a key")
		}, nil); err != nil {
			t.Fatal(err)
		}
		if all := atMost(t, sent, plain+2); len(all) != plain+2 {
			t.Errorf("%d statements, and %d without a key", len(all), plain)
		}
	})
}
