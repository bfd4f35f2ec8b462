package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestOpen(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		ctx := t.Context()
		t.Run("opening again changes nothing", func(t *testing.T) {
			a := adapter(t, url)
			team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
			got, _, err := adapter(t, url).Users.Get(ctx, team.Org, team.Owner.User)
			if err != nil || got.Name != "owner" {
				t.Fatalf("got %+v, %v", got, err)
			}
		})
		t.Run("a database of a newer Atrium is not changed", func(t *testing.T) {
			db := open(t, url, databases.Keyring(t))
			require.NoError(t, db.Ready(ctx))
			if _, err := databases.Raw(t, url).ExecContext(ctx,
				`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
				t.Fatal(err)
			}
			_, _, err := sqlstore.Open(ctx, sqlstore.Config{URL: secret.New(url), MaxConns: 4}, databases.Keyring(t),
				sql.OpenDB)
			if !errors.Is(err, sqlstore.ErrNewerSchema) || !strings.Contains(err.Error(), "9999") {
				t.Errorf("error = %v, want ErrNewerSchema that names the schema", err)
			}
			if err := db.Ready(ctx); err != nil {
				t.Errorf("a node that was there before takes no requests any more: %v", err)
			}
			if _, err := databases.Raw(t, url).ExecContext(ctx, `DELETE FROM goose_db_version WHERE version_id > 1`); err != nil {
				t.Fatal(err)
			}
			assert.ErrorIs(t, db.Ready(ctx), ports.ErrUnavailable)
		})
	})
}

func TestNeitherReadyNorAStartWithNothingToApplyWaitsForALock(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		other, err := databases.Raw(t, url).Conn(t.Context())
		require.NoError(t, err)
		defer other.Close()
		hold := `BEGIN IMMEDIATE`
		if db.Engine() == "postgres" {
			hold = fmt.Sprintf(`SELECT pg_advisory_lock(%d)`, lock.DefaultLockID)
		}
		if _, err := other.ExecContext(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
		defer cancel()
		if err := db.Ready(ctx); err != nil {
			t.Errorf("while another holds the lock of migrations: %v", err)
		}
		if db.Engine() == "sqlite" {
			return // its start writes
		}
		config := sqlstore.Config{URL: secret.New(url), MaxConns: 4}
		_, closeDB, err := sqlstore.Open(ctx, config, databases.Keyring(t), sql.OpenDB)
		if err != nil {
			t.Fatalf("a start while another holds the lock: %v", err)
		}
		closeDB()
	})
}

// TestOpenAtOnce starts nodes on one empty PostgreSQL, or a server and commands on one new file.
func TestOpenAtOnce(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		ctx, sealer := t.Context(), databases.Keyring(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				db, closeDB, err := sqlstore.Open(ctx, sqlstore.Config{URL: secret.New(url), MaxConns: 4},
					sealer, sql.OpenDB)
				if err != nil {
					t.Error(err)
					return
				}
				defer closeDB()
				assert.NoError(t, db.Ready(ctx))
			})
		}
		wg.Wait()
	})
}

// PostgreSQL cancels a migration that deadlocks with what another node does while nodes are replaced one by one. A
// trigger stands in for the other node: it cancels the first three attempts.
func TestAMigrationThatDeadlocksIsAppliedAgain(t *testing.T) {
	url, ctx := services.Postgres(t), t.Context()
	db := databases.Raw(t, url)
	if _, err := db.ExecContext(ctx, `CREATE SEQUENCE attempts;
CREATE FUNCTION deadlock() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('attempts') <= 3 THEN
        RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected';
    END IF;
END $$;
CREATE EVENT TRIGGER deadlocks ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION deadlock()`,
	); err != nil {
		t.Fatal(err)
	}
	assert.NoError(t, open(t, url, databases.Keyring(t)).Ready(ctx))
	var attempts int
	if err := db.QueryRowContext(ctx, `SELECT last_value FROM attempts`).Scan(&attempts); err != nil || attempts <= 3 {
		t.Errorf("%d attempts, want more than the three that were cancelled (%v)", attempts, err)
	}
}

func TestEmpty(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		if empty, err := db.Empty(t.Context()); err != nil || !empty {
			t.Errorf("with an org and no one in it: Empty = %v, %v", empty, err)
		}
		fixture.NewTeam(t, db.Stores(), ids["one"])
		if empty, err := db.Empty(t.Context()); err != nil || empty {
			t.Errorf("with people: Empty = %v, %v", empty, err)
		}
	})
}

func TestEnsureOrgs(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		ensure := func(slugs ...string) map[string]identity.OrgID {
			t.Helper()
			ids, err := db.EnsureOrgs(t.Context(), slugs)
			require.NoError(t, err)
			return ids
		}
		first := ensure("one", "two")
		if len(first) != 2 || first["one"] == first["two"] || first["one"] == "" {
			t.Fatalf("ids = %v", first)
		}
		t.Run("an org keeps its id when other orgs come and go", func(t *testing.T) {
			if got := ensure("three", "one"); len(got) != 2 || got["one"] != first["one"] || got["three"] == "" {
				t.Fatalf("ids = %v, at first %v", got, first)
			}
			if got := ensure("two", "one"); got["one"] != first["one"] || got["two"] != first["two"] {
				t.Fatalf("ids = %v, at first %v", got, first)
			}
		})
		t.Run("nodes that start at once agree", func(t *testing.T) {
			var wg sync.WaitGroup
			ids := make([]identity.OrgID, 8)
			for i := range ids {
				wg.Go(func() {
					found, err := db.EnsureOrgs(t.Context(), []string{"contended"})
					assert.NoError(t, err)
					ids[i] = found["contended"]
				})
			}
			wg.Wait()
			for _, id := range ids {
				if id == "" || id != ids[0] {
					t.Fatalf("ids = %v", ids)
				}
			}
		})
	})
}

func TestKeyringCheck(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		for _, fresh := range []string{"the first\x00\xff", "another"} { // the second one must not replace the first
			if got, err := db.KeyringCheck(t.Context(), []byte(fresh)); err != nil ||
				string(got) != "the first\x00\xff" {
				t.Fatalf("KeyringCheck = %q, %v", got, err)
			}
		}
	})
}

// That a database of v0.1.0 waits for a day is for test/chaos, which upgrades one.
func TestADatabaseOfThisVersionUsesDerivedKeysAtOnce(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		if _, err := db.KeyringCheck(t.Context(), []byte("check")); err != nil {
			t.Fatal(err)
		}
		if start, err := db.DerivedSince(t.Context()); err != nil || !start.IsZero() {
			t.Errorf("DerivedSince = %v, %v", start, err)
		}
	})
}

func TestOpenKeepsThePassword(t *testing.T) {
	for name, url := range map[string]string{
		"where no server listens":  "postgres://atrium:hunter2@127.0.0.1:1/atrium?sslmode=disable",
		"where there is no server": "postgres://atrium:hunter2@no-such-host.invalid/atrium?sslmode=disable",
		"by an unknown setting":    "postgres://atrium:hunter2@127.0.0.1:1/atrium?sslmode=maybe&password=hunter2",
		"by an invalid URL":        "postgres://atrium:hunter2%zz@127.0.0.1:1/atrium",
		"by another scheme":        "mysql://atrium:hunter2@127.0.0.1:1/atrium",
	} {
		t.Run("to itself "+name, func(t *testing.T) {
			_, _, err := sqlstore.Open(t.Context(),
				sqlstore.Config{URL: secret.New(url), MaxConns: 1, StatementTimeout: time.Second},
				databases.Keyring(t), sql.OpenDB)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v", err)
			}
		})
	}
}
