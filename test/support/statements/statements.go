// Package statements lets tests see, and fail, what the stores send to their database.
package statements

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
)

// What a Hook is given for the beginning and the ends of a transaction.
const (
	Begin    = "BEGIN"
	Commit   = "COMMIT"
	Rollback = "ROLLBACK"
)

// Hook is called before each statement. If it returns an error, the statement fails with it and is not sent; a
// transaction that it does not let commit is rolled back. Its error for Rollback is ignored.
type Hook func(query string, args []driver.NamedValue) error

// Watch returns a connector whose connections call before for each statement that database/sql sends.
func Watch(target driver.Connector, previousOf Hook) driver.Connector {
	return &connector{target, previousOf}
}

// Log keeps the statements that were sent. Its zero value is empty. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	sent []Statement
}

// Statement is a query as the store sent it.
type Statement struct {
	Query string
	Args  []driver.NamedValue
}

// Add is a Hook.
func (l *Log) Add(query string, args []driver.NamedValue) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, Statement{query, args})
	return nil
}

// Take empties the log, and returns what it held.
func (l *Log) Take() []Statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.sent
	l.sent = nil
	return all
}

type connector struct {
	driver.Connector
	before Hook
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	connection, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := connection.(wholeConn)
	if !ok {
		return nil, errors.Join(errors.New("the connection lacks a method that the stores need"), connection.Close())
	}
	return &conn{full, c.before}, nil
}

// wholeConn is what database/sql uses of a connection, of either engine.
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
	before Hook
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.before(query, args); err != nil {
		return nil, err
	}
	return c.wholeConn.QueryContext(ctx, query, args)
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.before(query, args); err != nil {
		return nil, err
	}
	return c.wholeConn.ExecContext(ctx, query, args)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.before(query, nil); err != nil {
		return nil, err
	}
	return c.wholeConn.PrepareContext(ctx, query)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.before(Begin, nil); err != nil {
		return nil, err
	}
	start, err := c.wholeConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &tx{start, c.before}, nil
}

type tx struct {
	driver.Tx
	before Hook
}

func (t *tx) Commit() error {
	if err := t.before(Commit, nil); err != nil {
		return errors.Join(err, t.Tx.Rollback())
	}
	return t.Tx.Commit()
}

func (t *tx) Rollback() error {
	_ = t.before(Rollback, nil)
	return t.Tx.Rollback()
}
