package sqlstore_test

import (
	"database/sql"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/sqlstore/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// suites are those that need only an Opener.
var suites = map[string]func(*testing.T, contract.Opener){
	"Prompts":           contract.Prompts,
	"PromptLists":       contract.PromptLists,
	"PromptFolders":     contract.PromptFolders,
	"Chats":             contract.Chats,
	"ChatLists":         contract.ChatLists,
	"Embeds":            contract.Embeds,
	"Users":             contract.Users,
	"Workspaces":        contract.Workspaces,
	"Invitations":       contract.Invitations,
	"SignIns":           contract.SignIns,
	"Memberships":       contract.Memberships,
	"Keys":              contract.Keys,
	"Groups":            contract.Groups,
	"Directory":         contract.Directory,
	"DirectoryRequests": contract.DirectoryRequests,
	"Offboarding":       contract.Offboarding,
	"People":            contract.People,
	"PeopleWalk":        contract.PeopleWalk,
	"Events":            contract.Events,
	"EventReaders":      contract.EventReaders,
	"Webhooks":          contract.Webhooks,
	"Notes":             contract.Notes,
	"Presences":         contract.Presences,
	"Sessions":          contract.Sessions,
	"Passkeys":          contract.Passkeys,
	"SecurityNotices":   contract.SecurityNotices,
	"Tickets":           contract.Tickets,
	"Atomic":            contract.Atomic,
	"Jobs":              contract.Jobs,
	"Connections":       contract.Connections,
	"Sources":           contract.Sources,
	"Payments":          contract.Payments,
	"Trials":            contract.Trials,
	"Inbox":             contract.Inbox,
	"Usage":             contract.Usage,
	"Meters":            contract.Meters,
	"StreamSeats":       contract.StreamSeats,
	"JobQueue":          contract.JobQueue,
	"Idempotency":       contract.Idempotency,
}

// TestContract runs the suites at the same time, each on databases of its own: most of the time they wait for these.
// When durations are asserted, it runs one after the other. On PostgreSQL it also checks that each transaction declares
// what it changes.
func TestContract(t *testing.T) {
	jointCall := func(t *testing.T) {
		if !proof.Running() {
			t.Parallel()
		}
	}
	for engine, url := range databases.Engines {
		opens := map[string]opener{"sqlite": open, "postgres": openDeclaring}[engine]
		t.Run(engine, func(t *testing.T) {
			jointCall(t)
			for name, suite := range suites {
				t.Run(name, func(t *testing.T) {
					jointCall(t)
					suite(t, func(t *testing.T) contract.Adapter { return adapterBy(t, url(t), opens) })
				})
			}
			t.Run("SandboxObjects", func(t *testing.T) {
				jointCall(t)
				sandboxObjects(t, url)
			})
		})
	}
}

func sandboxObjects(t *testing.T, url func(*testing.T) string) {
	t.Helper()
	contract.SandboxObjects(t, func(t *testing.T) (objects, second ports.SandboxObjects, orgs [2]identity.OrgID) {
		address, sealer := url(t), databases.Keyring(t)
		db := open(t, address, sealer)
		ids, err := db.EnsureOrgs(t.Context(), []string{"one", "two"})
		require.NoError(t, err)
		return payments.NewSandboxObjects(db.DB), payments.NewSandboxObjects(open(t, address, sealer).DB),
			[2]identity.OrgID{ids["one"], ids["two"]}
	})
}

// TestStoresAreComplete fails if a port of ports.Stores is not implemented: use cases would meet nil.
func TestStoresAreComplete(t *testing.T) {
	stores := reflect.ValueOf(new(sqlstore.Store).Stores())
	for _, field := range reflect.VisibleFields(stores.Type()) {
		if !field.Anonymous && stores.FieldByIndex(field.Index).IsNil() {
			t.Errorf("%s is nil", field.Name)
		}
	}
}

// adapter opens the stores of a database that has two orgs.
func adapter(t *testing.T, url string) contract.Adapter {
	t.Helper()
	return adapterBy(t, url, open)
}

// opener opens the database at a URL.
type opener func(t *testing.T, url string, sealer ports.Sealer) *sqlstore.Store

// adapterBy is adapter with databases that open opens.
func adapterBy(t *testing.T, url string, open opener) contract.Adapter {
	t.Helper()
	sealer := databases.Keyring(t)
	db := open(t, url, sealer)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one", "two"})
	require.NoError(t, err)
	a := contract.Adapter{
		Stores: db.Stores(), Idempotency: sqlstore.NewIdempotency(db),
		Second: func() ports.Stores { return open(t, url, sealer).Stores() },
		Notes:  func() ports.Notes { return events.NewNotes(open(t, url, sealer).DB) },
		Queue:  func() ports.JobQueue { return jobs.NewQueue(open(t, url, sealer).DB) },
		WebhookQueue: func() ports.WebhookQueue {
			return sqlstore.NewWebhookQueue(open(t, url, sealer))
		},
		Waiting: waiting(t, url),
	}
	a.Orgs[0], a.Orgs[1] = ids["one"], ids["two"]
	return a
}

// waiting returns a function that reports whether a transaction waits for another one: for a lock of PostgreSQL, or for
// SQLite's only writer, which only the stacks of the goroutines show.
func waiting(t *testing.T, url string) func() bool {
	t.Helper()
	if strings.HasPrefix(url, "sqlite:") {
		return func() bool { return slices.ContainsFunc(goroutines(), waitsForWriter) }
	}
	db := databases.Raw(t, url)
	return func() (found bool) {
		require.NoError(t, db.QueryRow(`SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&found))
		return found
	}
}

func goroutines() []runtime.StackRecord {
	for all := make([]runtime.StackRecord, 1000); ; all = make([]runtime.StackRecord, 2*len(all)) {
		if n, ok := runtime.GoroutineProfile(all); ok {
			return all[:n]
		}
	}
}

// waitsForWriter reports whether a goroutine waits in a method of the type that gives transactions their turns.
func waitsForWriter(r runtime.StackRecord) bool {
	frames := runtime.CallersFrames(r.Stack())
	for frame, hasMore := frames.Next(); hasMore; frame, hasMore = frames.Next() {
		if !strings.HasPrefix(frame.Function, "runtime.") {
			return strings.Contains(frame.Function, ".(*groupCommit).")
		}
	}
	return false
}

func open(t *testing.T, url string, sealer ports.Sealer) *sqlstore.Store {
	t.Helper()
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: proof.Patience}, sealer, sql.OpenDB)
	require.NoError(t, err)
	t.Cleanup(closeDB)
	return db
}
