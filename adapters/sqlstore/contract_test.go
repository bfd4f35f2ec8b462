package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/migrated"
	"github.com/atrium-hq/atrium/test/proof"
	"github.com/atrium-hq/atrium/test/services"
)

// engines makes the URL of a database of each that has the schema and nothing else, and empty that of one without it.
var (
	engines = map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string {
			return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
		},
		"postgres": func(t *testing.T) string { return migrated.Postgres(t) },
	}
	empty = map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "test.db") },
		"postgres": func(t *testing.T) string { return services.Postgres(t) },
	}
)

func TestContract(t *testing.T) {
	for engine, url := range engines {
		t.Run(engine, func(t *testing.T) {
			openDB := open
			open := func(t *testing.T) contract.Adapter { return adapter(t, url(t)) }
			t.Run("Prompts", func(t *testing.T) { contract.Prompts(t, open) })
			t.Run("PromptLists", func(t *testing.T) { contract.PromptLists(t, open) })
			t.Run("Chats", func(t *testing.T) { contract.Chats(t, open) })
			t.Run("ChatLists", func(t *testing.T) { contract.ChatLists(t, open) })
			t.Run("Embeds", func(t *testing.T) { contract.Embeds(t, open) })
			t.Run("Users", func(t *testing.T) { contract.Users(t, open) })
			t.Run("Workspaces", func(t *testing.T) { contract.Workspaces(t, open) })
			t.Run("Invitations", func(t *testing.T) { contract.Invitations(t, open) })
			t.Run("SignIns", func(t *testing.T) { contract.SignIns(t, open) })
			t.Run("Memberships", func(t *testing.T) { contract.Memberships(t, open) })
			t.Run("Keys", func(t *testing.T) { contract.Keys(t, open) })
			t.Run("Groups", func(t *testing.T) { contract.Groups(t, open) })
			t.Run("Directory", func(t *testing.T) { contract.Directory(t, open) })
			t.Run("Offboarding", func(t *testing.T) { contract.Offboarding(t, open) })
			t.Run("People", func(t *testing.T) { contract.People(t, open) })
			t.Run("PeopleWalk", func(t *testing.T) { contract.PeopleWalk(t, open) })
			t.Run("Events", func(t *testing.T) { contract.Events(t, open) })
			t.Run("EventReaders", func(t *testing.T) { contract.EventReaders(t, open) })
			t.Run("Webhooks", func(t *testing.T) { contract.Webhooks(t, open) })
			t.Run("Notes", func(t *testing.T) { contract.Notes(t, open) })
			t.Run("Presences", func(t *testing.T) { contract.Presences(t, open) })
			t.Run("Sessions", func(t *testing.T) { contract.Sessions(t, open) })
			t.Run("Passkeys", func(t *testing.T) { contract.Passkeys(t, open) })
			t.Run("Tickets", func(t *testing.T) { contract.Tickets(t, open) })
			t.Run("Atomic", func(t *testing.T) { contract.Atomic(t, open) })
			t.Run("Jobs", func(t *testing.T) { contract.Jobs(t, open) })
			t.Run("Connections", func(t *testing.T) { contract.Connections(t, open) })
			t.Run("Sources", func(t *testing.T) { contract.Sources(t, open) })
			t.Run("Payments", func(t *testing.T) { contract.Payments(t, open) })
			t.Run("Trials", func(t *testing.T) { contract.Trials(t, open) })
			t.Run("Inbox", func(t *testing.T) { contract.Inbox(t, open) })
			t.Run("Usage", func(t *testing.T) { contract.Usage(t, open) })
			t.Run("Meters", func(t *testing.T) { contract.Meters(t, open) })
			t.Run("StreamSeats", func(t *testing.T) { contract.StreamSeats(t, open) })
			t.Run("SandboxAccounts", func(t *testing.T) {
				contract.SandboxAccounts(t, func(t *testing.T) (books, second ports.SandboxAccounts,
					orgs [2]identity.OrgID) {
					at, sealer := url(t), keyring(t)
					db := openDB(t, at, sealer)
					ids, err := db.EnsureOrgs(t.Context(), []string{"one", "two"})
					if err != nil {
						t.Fatal(err)
					}
					return sqlstore.NewSandboxAccounts(db), sqlstore.NewSandboxAccounts(openDB(t, at, sealer)),
						[2]identity.OrgID{ids["one"], ids["two"]}
				})
			})
			t.Run("JobQueue", func(t *testing.T) { contract.JobQueue(t, open) })
			t.Run("Idempotency", func(t *testing.T) { contract.Idempotency(t, open) })
		})
	}
}

// TestStoresAreComplete fails if a port of ports.Stores is not implemented: use cases would meet nil.
func TestStoresAreComplete(t *testing.T) {
	stores := reflect.ValueOf(new(sqlstore.DB).Stores())
	for i := range stores.NumField() {
		if stores.Field(i).IsNil() {
			t.Errorf("%s is nil", stores.Type().Field(i).Name)
		}
	}
}

// adapter opens the stores of a database that has two orgs.
func adapter(t *testing.T, url string) contract.Adapter {
	t.Helper()
	sealer := keyring(t)
	db := open(t, url, sealer)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	a := contract.Adapter{
		Stores: db.Stores(), Idempotency: sqlstore.NewIdempotency(db),
		Second: func() ports.Stores { return open(t, url, sealer).Stores() },
		Notes:  func() ports.Notes { return sqlstore.NewNotes(open(t, url, sealer)) },
		Queue:  func() ports.JobQueue { return sqlstore.NewJobQueue(open(t, url, sealer)) },
		WebhookQueue: func() ports.WebhookQueue {
			return sqlstore.NewWebhookQueue(open(t, url, sealer))
		},
	}
	a.Orgs[0], a.Orgs[1] = ids["one"], ids["two"]
	return a
}

func open(t *testing.T, url string, sealer ports.Sealer) *sqlstore.DB {
	t.Helper()
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: proof.Patience}, sealer, sql.OpenDB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeDB)
	return db
}

func keyring(t *testing.T) ports.Sealer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := seal.Create(file); err != nil {
		t.Fatal(err)
	}
	ring, err := seal.Open(seal.Config{KeyFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return ring.For(seal.Answers)
}
