package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/fixture"
)

// maxActivation is how many statements one activation may send to the database, BEGIN and COMMIT included.
const maxActivation = 7

func TestAnActivationTakesFewStatements(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		var sent statementLog
		db, closeDB, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: 10 * time.Second}, keyring(t),
			func(c driver.Connector) *sql.DB { return sql.OpenDB(loggingConnector{c, &sent}) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(closeDB)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		by := team.Member
		service := prompts.NewService(s.Atomic, s.Prompts, s.PromptLists, s.Users, func(context.Context, identity.Actor) (quota.Limits, error) {
			return quota.Limits{Amounts: quota.Default()}, nil
		})
		made := fixture.Template(t, s, by, prompt.Draft{})
		one := fixture.Version(t, s, by, made.ID, "one", "live", "stable")
		fixture.Version(t, s, by, made.ID, "two")
		fixture.Share(t, s, by, made.ID, prompt.Grant{User: team.Peer.User, Role: access.Editor})
		for _, tt := range []struct {
			name string
			by   identity.Actor
			ref  prompt.Ref
		}{
			{"a labelled version", by, prompt.Ref{Label: "live"}},
			{"a draft, for the first time", by, prompt.Ref{Number: 2}},
			{"an earlier version again, by its id", by, prompt.Ref{ID: one.ID}},
			{"the active version, which changes nothing", by, prompt.Ref{Active: true}},
			{"a version, through a share", team.Peer, prompt.Ref{Number: 2}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				sent.reset()
				if _, err := service.ActivateVersion(t.Context(), tt.by, made.ID, tt.ref, nil, nil, "why"); err != nil {
					t.Fatal(err)
				}
				all := sent.reset()
				if len(all) == 0 || len(all) > maxActivation {
					t.Errorf("%d statements, at most %d are allowed:\n%s", len(all), maxActivation, strings.Join(all, "\n"))
				}
				for _, query := range all {
					if strings.Contains(query, "text = ?") || strings.Contains(query, "text = $") || strings.Contains(query, "description = ") {
						t.Errorf("writes what did not change: %s", query)
					}
				}
			})
		}
	})
}

// statementLog holds the statements that were sent, with BEGIN, COMMIT and ROLLBACK.
type statementLog struct {
	mu   sync.Mutex
	sent []string
}

func (l *statementLog) add(query string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, query)
}

// reset empties the log, and returns what it held.
func (l *statementLog) reset() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.sent
	l.sent = nil
	return all
}

// loggingConnector makes connections that log the statements which database/sql sends.
type loggingConnector struct {
	driver.Connector
	log *statementLog
}

func (c loggingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &loggingConn{conn.(wholeConn), c.log}, nil
}

// wholeConn is what database/sql uses of a connection.
type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

type loggingConn struct {
	wholeConn
	log *statementLog
}

func (c *loggingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.log.add(query)
	return c.wholeConn.QueryContext(ctx, query, args)
}

func (c *loggingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.log.add(query)
	return c.wholeConn.ExecContext(ctx, query, args)
}

func (c *loggingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.log.add(query)
	return c.wholeConn.PrepareContext(ctx, query)
}

func (c *loggingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.log.add("BEGIN")
	tx, err := c.wholeConn.BeginTx(ctx, opts)
	return &loggingTx{tx, c.log}, err
}

type loggingTx struct {
	driver.Tx
	log *statementLog
}

func (t *loggingTx) Commit() error {
	t.log.add("COMMIT")
	return t.Tx.Commit()
}

func (t *loggingTx) Rollback() error {
	t.log.add("ROLLBACK")
	return t.Tx.Rollback()
}
