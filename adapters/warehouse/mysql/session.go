package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one connection, within a transaction that cannot write.
type session struct {
	ctx      context.Context
	network  warehouse.Network
	to       ports.Target
	conn     conn
	wire     *wire
	version  string // as the server reports it
	database string // as the server spells it
	running  string // the statement that the server runs; "" if none
}

// conn has the interfaces of the driver's connections.
type conn interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
}

// open opens a session: it passes the steps up to and including database.
func open(ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	encryption, err := warehouse.TLSConfig(target.Credential)
	if err != nil {
		return nil, connection.Internal
	}
	recorder, err := warehouse.Open(starting, n, target, trace)
	if err != nil {
		return nil, err
	}
	s := &session{ctx: ctx, network: n, to: target}
	if err := s.start(starting, recorder, encryption, target, trace); err != nil {
		_ = recorder.Close()
		if errors.Is(err, connection.AuthFailed) && encryption == nil && s.wire.flags&capTLS != 0 &&
			wantsTLS(starting, n, target) {
			err = connection.TLSRequired
		}
		return nil, unlessCanceled(ctx, err)
	}
	if err := s.prepare(target.Limits.Statement); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start passes the steps tls, authenticate and database on an open connection.
func (s *session) start(ctx context.Context, r *warehouse.Recorder, encryption *tls.Config, target ports.Target,
	trace *warehouse.Trace) (err error) {
	if encryption == nil {
		trace.Skipped(connection.TLS)
	}
	if s.wire, err = readGreeting(ctx, r); err != nil {
		return err
	}
	isEncrypted := false
	if encryption == nil {
		s.wire.guard = &guard{}
	} else {
		if s.wire.flags&capTLS == 0 {
			return connection.TLSUnsupported
		}
		encryption = withAcceptNotice(encryption, &isEncrypted)
	}
	// From here on, the driver watches ctx.
	err = recoverPanics(func() error { return s.connect(ctx, configure(target, encryption)) })
	if err != nil && encryption != nil && !isEncrypted {
		return classifyTLS(ctx, err, s.wire)
	}
	if encryption != nil {
		trace.Passed(connection.TLS)
	}
	if err != nil {
		err = warehouse.SignInError(target.Credential, classifyStart(ctx, err, s.wire))
		if errors.Is(err, connection.DatabaseNotFound) || errors.Is(err, connection.DatabaseDeniedOrMissing) {
			trace.Passed(connection.Authenticate) // a server looks up the database only after sign-in
		}
		return err
	}
	trace.Passed(connection.Authenticate)
	trace.Passed(connection.Database)
	return nil
}

// withAcceptNotice makes a configuration that says when the server's certificate has been accepted.
func withAcceptNotice(config *tls.Config, isAccepted *bool) *tls.Config {
	config = config.Clone()
	previous := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if previous != nil {
			if err := previous(state); err != nil {
				return err
			}
		}
		*isAccepted = true
		return nil
	}
	return config
}

func (s *session) connect(ctx context.Context, config *mysql.Config) error {
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return s.wire, nil }
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return connection.Internal
	}
	c, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	s.conn = c.(conn) //nolint:errcheck // all of this driver's are
	return nil
}

// configure sets every field; there is no data source name that could set others.
func configure(target ports.Target, encryption *tls.Config) *mysql.Config {
	c := target.Credential
	mode := c.TLSMode()
	config := mysql.NewConfig()
	config.User, config.Passwd = c.Text(connection.FieldUsername), c.Secret(connection.FieldPassword).Reveal()
	config.Net, config.Addr = "tcp", "server:3306" // the host is resolved, checked and dialled
	config.DBName = c.Text(connection.FieldDatabase)
	config.Params, config.ConnectionAttributes = nil, "program_name:atrium"
	config.Collation, config.Loc = "", time.UTC
	config.MaxAllowedPacket = int(target.Limits.Bytes) // of ours; it also keeps the driver from asking
	config.ServerPubKey, config.TLSConfig, config.TLS = "", "", encryption
	config.Timeout, config.ReadTimeout, config.WriteTimeout = 0, 0, 0 // the context has them
	config.Logger = &mysql.NopLogger{}
	config.AllowAllFiles = false // nothing is registered either: a server that asks for a file gets none
	config.AllowCleartextPasswords = mode == connection.VerifyFull || mode == connection.VerifyCA
	config.AllowFallbackToPlaintext = false
	config.AllowNativePasswords = true
	config.AllowOldPasswords = false
	config.CheckConnLiveness = false
	config.ClientFoundRows, config.ColumnsWithAlias = false, false
	config.InterpolateParams = true // one round trip, and values as texts
	config.MultiStatements, config.ParseTime, config.RejectReadOnly = false, false, false
	return config
}

// prepare makes the session read-only and limits the duration of statements.
func (s *session) prepare(limit time.Duration) error {
	rows, err := s.query(`SELECT VERSION(), DATABASE()`)
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 2 || rows[0][0] == nil || rows[0][1] == nil {
		return connection.NotThisDatabase
	}
	s.version, s.database = *rows[0][0], *rows[0][1]
	timeout := `max_execution_time = ` + strconv.FormatInt(max(1, limit.Milliseconds()), 10)
	if s.isMariaDB() {
		timeout = `max_statement_time = ` + strconv.FormatFloat(max(0.001, limit.Seconds()), 'f', 3, 64)
	}
	lock := strconv.Itoa(max(1, int(limit.Seconds()))) // seconds, for tables that are being altered
	if err := s.run(`SET SESSION sql_mode = '', time_zone = '+00:00', lock_wait_timeout = ` + lock + `, ` +
		timeout); err != nil {
		return err
	}
	return s.run(`START TRANSACTION READ ONLY`)
}

func (s *session) isMariaDB() bool { return strings.Contains(s.version, "MariaDB") }

// run sends a statement that returns no rows.
func (s *session) run(sql string) error {
	s.running = sql
	err := recoverPanics(func() error {
		_, err := s.conn.ExecContext(s.ctx, sql, nil)
		return err
	})
	return s.ended(err)
}

// query runs one statement and returns its rows as text; nil for NULL.
func (s *session) query(sql string, args ...string) (all [][]*string, err error) {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	s.running = sql
	err = recoverPanics(func() error {
		rows, err := s.conn.QueryContext(s.ctx, sql, values)
		if err != nil {
			return err
		}
		row := make([]driver.Value, len(rows.Columns()))
		for {
			err := rows.Next(row)
			if errors.Is(err, io.EOF) {
				return rows.Close()
			}
			if err != nil {
				return err // closing rows would wait for the rest of them
			}
			texts := make([]*string, len(row))
			for i, v := range row {
				texts[i] = text(v)
			}
			all = append(all, texts)
		}
	})
	return all, s.ended(err)
}

// ended returns the code of the error of a statement, which may be nil.
func (s *session) ended(err error) error {
	if err == nil {
		s.running = ""
	}
	return s.classify(err)
}

// text returns a value of the driver as text. Our statements select only texts and integers.
func text(v driver.Value) *string {
	var s string
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		s = string(v)
	case string:
		s = v
	case int64:
		s = strconv.FormatInt(v, 10)
	case uint64:
		s = strconv.FormatUint(v, 10)
	}
	return &s
}

// recoverPanics runs code that reads a server's packets: the driver panics on some malformed ones.
func recoverPanics(fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = connection.NotThisDatabase
		}
	}()
	return fn()
}

// Close ends the session without waiting for a server that may not answer. If its call was cancelled, it also ends the
// statement at the server.
func (s *session) Close() {
	if s.running != "" && errors.Is(s.ctx.Err(), context.Canceled) {
		s.kill()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 200*time.Millisecond)
	defer cancel()
	defer warehouse.Limit(ctx, s.wire)()
	_ = s.conn.Close() // the session has ended either way
	_ = s.wire.Close()
}
