// Package warm counts what reads from memory send to the database, below the whole API.
package warm

import (
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/migrated"
	"github.com/atrium-hq/atrium/test/proof"
	"github.com/atrium-hq/atrium/test/services"
	"github.com/atrium-hq/atrium/test/statements"
)

// dataVersion is what reads on SQLite send, twenty times a second at most, to learn of other processes. It reads no
// table.
const dataVersion = "PRAGMA data_version"

func TestAReadFromMemorySendsNoStatement(t *testing.T) {
	for _, tt := range []struct {
		engine string
		url    func(t *testing.T) string
	}{
		{"SQLite", func(t *testing.T) string {
			return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
		}},
		{"PostgreSQL", func(t *testing.T) string { return services.Postgres(t) }},
	} {
		t.Run("on "+tt.engine, func(t *testing.T) {
			sent := new(statements.Log)
			read := newReader(t, tt.url(t), sent)
			for range 100 {
				sent.Take()
				begun := time.Now()
				read()
				if first := sent.Take(); len(first) == 0 {
					t.Fatal("a read that is the first one, or a second after it, sent no statement")
				}
				for range 20 {
					read()
				}
				again := sent.Take()
				if time.Since(begun) < time.Second { // what is in memory lasts that long
					for _, s := range again {
						if s.Query != dataVersion {
							t.Errorf("sent %s", s.Query)
						}
					}
					return
				}
			}
			t.Error("21 reads took longer than a second, a hundred times")
		})
	}
}

// newReader returns a func that reads the active version of a prompt with an API key, on an API whose database logs its
// statements.
func newReader(t *testing.T, url string, sent *statements.Log) (read func()) {
	t.Helper()
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 4, StatementTimeout: proof.Patience}, nil,
		func(c driver.Connector) *sql.DB { return sql.OpenDB(statements.Watch(c, sent.Add)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeDB)
	orgs, err := db.EnsureOrgs(t.Context(), []string{"default"})
	if err != nil {
		t.Fatal(err)
	}
	stores := db.Stores()
	by := fixture.NewTeam(t, stores, orgs["default"]).Member
	_, token := fixture.Key(t, stores, by, account.KeyDraft{Name: "reader"})
	made := fixture.Template(t, stores, by, prompt.Draft{})
	fixture.Activate(t, stores, by, made.ID, prompt.Ref{ID: fixture.Version(t, stores, by, made.ID, "Hello").ID})
	bind := application.NewBind(stores, application.External{
		Clock: time.Now, Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
		Terms: func(identity.OrgID) payments.Terms { return payments.Terms{} },
	})
	directory := identity.NewDirectory([]identity.Org{{ID: orgs["default"], Slug: "default"}}, "")
	api, err := rest.New(rest.Config{
		RequestTimeout: proof.Patience,
		RateLimit:      rest.RateLimit{PerMinute: 1e6, Burst: 1e6, UnauthenticatedPerMinute: 1e6},
		Concurrency:    rest.Concurrency{PerCaller: 100, PerWorkspace: 100, Wait: time.Second},
	}, rest.Deps{
		Contract: fixture.Contract(t), Orgs: func() *identity.Directory { return directory },
		Services: bind(stores), Bind: bind, Changes: db, Digester: fixture.Digester{},
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/prompt-templates/"+string(made.ID)+"/versions/active", nil)
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}
