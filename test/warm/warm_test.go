// Package warm counts what reads from memory send to the database, below the whole API.
package warm

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// onEach runs a test on both engines, each with an empty database.
func onEach(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("on SQLite", func(t *testing.T) {
		test(t, "sqlite:"+migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db")))
	})
	t.Run("on PostgreSQL", func(t *testing.T) { test(t, services.Postgres(t)) })
}

// TestAReadFromMemorySendsNoStatement reads a version, and lists of 20 items.
func TestAReadFromMemorySendsNoStatement(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		message := new(statements.Log)
		a := newAPI(t, url, message)
		by := a.team.Owner
		template := fixture.Template(t, a.stores, by, prompt.Draft{})
		fixture.Activate(t, a.stores, by, template.ID,
			prompt.Ref{ID: fixture.Version(t, a.stores, by, template.ID, "Hello").ID})
		for i := range 20 {
			fixture.Template(t, a.stores, by, prompt.Draft{Name: fmt.Sprint("Prompt ", i)})
			fixture.Chat(t, a.stores, by, chat.Draft{})
			fixture.Source(t, a.stores, by, fixture.TableReading(fixture.Connection(t, a.stores, by).ID))
		}
		for path, limit := range map[string]int{ // of statements, beside that of the caller
			"prompt-templates/" + string(template.ID) + "/versions/active": 2, "prompt-templates?limit=20": 1,
			"chat-templates?limit=20": 1, "connections?limit=20": 2, "datasources?limit=20": 1, "events?limit=20": 1,
		} {
			t.Run(path, func(t *testing.T) {
				request := a.request(t, by, "/api/"+path)
				read := func() (queries []string) {
					a.get(t, request, httptest.NewRecorder())
					for _, s := range message.Take() {
						if !strings.Contains(s.Query, "FROM api_keys ") {
							queries = append(queries, s.Query)
						}
					}
					return queries
				}
				for range 100 {
					message.Take()
					start := time.Now()
					if first := read(); len(first) == 0 || len(first) > limit {
						t.Fatalf("a read that is the first one, or a second after it, sent %.300q", first)
					}
					var second []string
					for range 20 {
						second = append(second, read()...)
					}
					if time.Since(start) < time.Second { // what is in memory lasts that long
						if len(second) > 0 {
							t.Errorf("sent %.300q", second)
						}
						return
					}
				}
				t.Error("21 reads took longer than a second, a hundred times")
			})
		}
	})
}

// api is an API with its database.
type api struct {
	*server.API
	stores ports.Stores
	team   *fixture.Team
}

// newAPI returns an API whose database logs its statements.
func newAPI(t *testing.T, url string, message *statements.Log) api {
	t.Helper()
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 4, StatementTimeout: proof.Patience}, nil,
		func(c driver.Connector) *sql.DB { return sql.OpenDB(statements.Watch(c, message.Add)) })
	require.NoError(t, err)
	t.Cleanup(closeDB)
	orgs, err := db.EnsureOrgs(t.Context(), []string{"default"})
	require.NoError(t, err)
	stores := db.Stores()
	file := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, seal.Create(file))
	ring, err := seal.Open(seal.Config{KeyFile: file})
	require.NoError(t, err)
	registry := fixture.Registry(t)
	types := []source.Type{fixture.People}
	bind := application.NewBind(stores, application.External{
		Clock: time.Now, Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
		Terms:        func(identity.OrgID) payments.Terms { return payments.Terms{} },
		Registries:   func(identity.OrgID) *chat.Registry { return registry },
		SourceOffers: func(identity.OrgID) sources.Offer { return sources.Offer{Types: types} },
	})
	directory := identity.NewDirectory([]identity.Org{{ID: orgs["default"], Slug: "default"}}, "")
	handler, err := rest.New(conformance.Contract(t), server.Config{
		RequestTimeout: proof.Patience,
		RateLimit:      server.RateLimit{PerMinute: 1e6, Burst: 1e6, UnauthenticatedPerMinute: 1e6},
		Concurrency:    server.Concurrency{PerCaller: 100, PerWorkspace: 100, Wait: time.Second},
	}, rest.Deps{Deps: server.Deps{
		Orgs:     func() *identity.Directory { return directory },
		Services: bind(stores), Bind: bind, Changes: db, Sealer: ring.Sealer(seal.Cursors),
		Digester: fixture.Digester{},
		Metrics:  prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}})
	require.NoError(t, err)
	return api{handler, stores, fixture.NewTeam(t, stores, orgs["default"])}
}

// request returns a GET of path with an API key of by.
func (a api) request(t *testing.T, by identity.Actor, path string) *http.Request {
	t.Helper()
	_, token := fixture.Key(t, a.stores, by, account.KeyDraft{Name: "reader"})
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	return r
}

// get sends r, which must succeed.
func (a api) get(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if a.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}
