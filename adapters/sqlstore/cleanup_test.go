package sqlstore_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// tables are all that hold rows of their own; goose's table is its own affair.
var tables = []string{"orgs", "keyring", "users", "sign_ins", "workspaces", "memberships", "invitations", "api_keys",
	"user_groups", "group_people",
	"events", "idempotency_keys", "jobs",
	"prompt_templates", "prompt_shares", "prompt_versions", "prompt_labels", "prompt_activations", "prompt_label_moves",
	"prompt_rollouts", "prompt_requests", "prompt_checks", "version_reads", "key_requests",
	"chat_templates", "chat_members", "chat_embed_tokens", "chat_embed_origins",
	"connections", "connection_credentials", "probe_attempts", "sources", "source_memory",
	"workspace_usage", "payment_customers", "payment_methods", "payment_subscriptions", "payment_invoices",
	"payment_events"}

func counts(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, table := range tables {
		var rows int
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&rows))
		n[table] = rows
	}
	return n
}

func TestSweep(t *testing.T) {
	const day = 24 * time.Hour
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx, sealer := t.Context(), databases.Keyring(t)
		db, rows := open(t, url, sealer), databases.Raw(t, url)
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, ids["one"])
		for name, by := range map[string]identity.Actor{"lives": team.Member, "deleted": team.Member,
			"deleted later": fixture.Later(team.Member, time.Second)} {
			template := fixture.Template(t, s, by, prompt.Draft{Name: name})
			fixture.Version(t, s, by, template.ID, "text", "live")
			fixture.Activate(t, s, by, template.ID, prompt.Ref{Number: 1})
			fixture.Share(t, s, by, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Viewer})
			if name != "lives" {
				fixture.Delete(t, s, by, template.ID)
			}
			furnishChat(t, s, by, team.Peer, name != "lives")
		}
		fixture.Connection(t, s, team.Member)
		require.NoError(t, s.Connections.Attempt(ctx, team.Member, connection.Probing, connection.Target{1},
			func(*connection.Counts) error { return nil }))
		var old event.Log // more than one step removes
		for range 2100 {
			old.Record(fixture.Later(team.Member, -500*day), "old", "old", nil)
		}
		require.NoError(t, s.Users.Add(ctx, &account.User{Log: old, ID: "usr_old", Org: team.Org, CreatedAt: fixture.At,
			UpdatedAt: fixture.At}))
		runOnce := func(at time.Time, reveals string) {
			t.Helper()
			key := ports.IdempotencyKey{Org: team.Org, Scope: sha256.Sum256([]byte(at.String() + reveals)), At: at}
			if _, _, err := sqlstore.NewIdempotency(db).Once(ctx, key, nil, func(ports.Stores) (ports.Answer, error) {
				return ports.Answer{Status: 200, Body: []byte("body"), Reveals: reveals}, nil
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		runOnce(fixture.At, "")
		runOnce(fixture.At.Add(time.Second), "")
		runOnce(fixture.At.Add(time.Second), "key_1")
		runOnce(fixture.At.Add(2*time.Second), "key_2")
		bodies := func() (n int) {
			t.Helper()
			if err := rows.QueryRowContext(ctx, `SELECT COUNT(*) FROM idempotency_keys WHERE LENGTH(body) > 0`).Scan(
				&n); err != nil {
				t.Fatal(err)
			}
			return n
		}

		for _, step := range []struct {
			name      string
			now       time.Time
			retention time.Duration
			removed   map[string]int
			bodies    int // that are left
		}{
			{"nothing has served its time", fixture.At, 500 * day, nil, 4},
			{"events older than the retention go", fixture.At, 400 * day, map[string]int{"events": 2100}, 4},
			{"an answer's secret goes after an hour, the record stays; so do probes",
				fixture.At.Add(time.Hour + 1500*time.Millisecond), 400 * day, map[string]int{"probe_attempts": 3}, 3},
			{"records go after a day", fixture.At.Add(day + 1500*time.Millisecond), 400 * day,
				map[string]int{"idempotency_keys": 3}, 0},
			{"a template that can be restored for the last time stays, and for an hour",
				fixture.At.Add(30*day + time.Hour), 400 * day, map[string]int{"idempotency_keys": 1}, 0},
			{"one that cannot goes with all that belongs to it, and none but its",
				fixture.At.Add(30*day + time.Hour + time.Microsecond), 400 * day,
				map[string]int{"prompt_templates": 1, "prompt_shares": 1, "prompt_versions": 1, "prompt_labels": 1,
					"prompt_activations": 1, "prompt_label_moves": 1,
					"chat_templates": 1, "chat_members": 1, "chat_embed_tokens": 1,
					"chat_embed_origins": 2}, 0},
		} {
			t.Run(step.name, func(t *testing.T) {
				want := counts(t, rows)
				for table, n := range step.removed {
					want[table] -= n
				}
				for range 2 { // the second time there is nothing left to do
					require.NoError(t, db.Sweep(ctx, step.now, step.retention))
					if got := counts(t, rows); !maps.Equal(got, want) {
						t.Fatalf("rows (-want +got):\n%s", cmp.Diff(want, got))
					}
				}
				assert.Equal(t, "bodies are left", bodies(), step.bodies)
			})
		}
	})
}

// TestSecretsAtRest looks at the bytes where answers are kept.
func TestSecretsAtRest(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, rows := adapter(t, url), databases.Raw(t, url)
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		var k *account.Key
		var token account.Token
		key := ports.IdempotencyKey{Org: by.Org, Scope: sha256.Sum256([]byte("scope")), At: fixture.At}
		if _, _, err := a.Idempotency.Once(ctx, key, nil, func(s ports.Stores) (ports.Answer, error) {
			k, token = fixture.Key(t, s, by, account.KeyDraft{Name: "k"})
			return ports.Answer{Status: 201, Body: []byte(`{"token":"` + token.Reveal() + `"}`), Reveals: string(k.ID)},
				nil
		}, nil); err != nil {
			t.Fatal(err)
		}
		body := func() (b []byte) {
			t.Helper()
			require.NoError(t, rows.QueryRowContext(ctx, `SELECT body FROM idempotency_keys`).Scan(&b))
			return b
		}
		t.Run("an answer that shows a secret is kept sealed", func(t *testing.T) {
			if b := body(); len(b) == 0 || bytes.Contains(b, []byte(token.Reveal())) ||
				bytes.Contains(b, []byte("token")) {
				t.Fatalf("%d bytes are kept, and can be read", len(b))
			}
		})
		t.Run("no table holds the token of a key", func(t *testing.T) {
			var hash []byte
			require.NoError(t, rows.QueryRowContext(ctx, `SELECT hash FROM api_keys`).Scan(&hash))
			if want := token.Hash(); !bytes.Equal(hash, want[:]) {
				t.Errorf("hash = %x", hash)
			}
			var found int
			if err := rows.QueryRowContext(ctx, `SELECT COUNT(*) FROM api_keys, events WHERE name = '`+token.Reveal()+
				`' OR data LIKE '%`+token.Reveal()+`%' OR address = '`+token.Reveal()+`'`).Scan(&found); err != nil ||
				found != 0 {
				t.Errorf("found in %d rows, %v", found, err)
			}
		})
		t.Run("a revocation takes it away at once", func(t *testing.T) {
			if _, err := a.Keys.Update(ctx, by, k.ID,
				func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
					return w.RevokeKey(by, nil, k, keys)
				}); err != nil {
				t.Fatal(err)
			}
			if b := body(); len(b) != 0 {
				t.Fatalf("%d bytes are left", len(b))
			}
		})
	})
}
