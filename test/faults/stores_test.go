// Package faults makes the stores below use cases fail, call by call.
package faults

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

var errOutage = errors.New("the store is away")

// faults counts the statements of the stores, BEGIN and COMMIT included, and makes one of them fail.
type faults struct {
	mu    sync.Mutex
	armed bool
	left  int // statements until the one that fails
	sent  int // statements after the one that failed, except ROLLBACK
	fired bool
}

// next returns the error of the next statement.
func (f *faults) next() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.armed:
		return nil
	case f.fired:
		f.sent++
		return errOutage
	case f.left > 0:
		f.left--
		return nil
	}
	f.fired = true
	return errOutage
}

// arm makes the statement after the next n fail.
func (f *faults) arm(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.left, f.sent, f.fired = true, n, 0, false
}

// disarm returns whether a statement failed, and how many were sent after it.
func (f *faults) disarm() (fired bool, sent int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.fired, f.sent
}

// openStores opens stores that f makes fail, with an org.
func openStores(t *testing.T) (s ports.Stores, f *faults, org identity.OrgID) {
	t.Helper()
	f = &faults{}
	db, closeDB, err := sqlstore.Open(t.Context(), sqlstore.Config{
		URL: secret.New("sqlite:" + filepath.Join(t.TempDir(), "test.db")), MaxConns: 10, StatementTimeout: 10 * time.Second,
	}, nil, func(c driver.Connector) *sql.DB { return sql.OpenDB(connector{c, f}) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeDB)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	return db.Stores(), f, ids["one"]
}

type connector struct {
	driver.Connector
	faults *faults
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{made.(wholeConn), c.faults}, nil
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

type conn struct {
	wholeConn
	faults *faults
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.faults.next(); err != nil {
		return nil, err
	}
	return c.wholeConn.QueryContext(ctx, query, args)
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.faults.next(); err != nil {
		return nil, err
	}
	return c.wholeConn.ExecContext(ctx, query, args)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.faults.next(); err != nil {
		return nil, err
	}
	begun, err := c.wholeConn.BeginTx(ctx, opts)
	return &tx{begun, c.faults}, err
}

type tx struct {
	driver.Tx
	faults *faults
}

func (t *tx) Commit() error {
	if err := t.faults.next(); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Tx.Commit()
}
