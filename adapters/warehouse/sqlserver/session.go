package sqlserver

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one user connection.
type session struct {
	ctx      context.Context
	to       ports.Target
	conn     *mssql.Conn
	wire     *wire
	version  string // as the server reports it
	edition  int    // the server's EngineEdition
	database string // as the server spells it
}

// open opens a session: it passes the steps up to and including database.
func open(ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	h := &handshake{ctx: starting, network: n, to: target}
	host := strings.TrimSuffix(target.Credential.Text(connection.FieldHost), ".")
	if err := h.open(host, target.Credential.Port(), trace); err != nil {
		return nil, err
	}
	s := &session{ctx: ctx, to: target}
	err := s.start(h, trace)
	s.wire = h.wire
	if err != nil {
		h.wire.release()
		_ = h.wire.Close()
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start passes the steps tls, authenticate and database on an open connection.
func (s *session) start(h *handshake, trace *warehouse.Trace) error {
	config, err := configure(h)
	if err != nil {
		return connection.Internal
	}
	if config.Encryption == msdsn.EncryptionDisabled {
		trace.Skipped(connection.TLS)
	}
	err = recoverPanics(func() error {
		connector := mssql.NewConnectorConfig(config)
		connector.Dialer = h
		c, err := connector.Connect(h.ctx)
		if err == nil {
			s.conn = c.(*mssql.Conn) //nolint:errcheck // all of this driver's are
		}
		return err
	})
	if err != nil && config.TLSConfig != nil && !h.encrypted {
		return h.beforeTLS(err)
	}
	if config.TLSConfig != nil {
		trace.Passed(connection.TLS)
	}
	if err != nil {
		err = h.beforeLogin(err)
		if errors.Is(err, connection.DatabaseNotFound) || errors.Is(err, connection.DatabaseDeniedOrMissing) {
			trace.Passed(connection.Authenticate) // a server looks up the database only after sign-in
		}
		return err
	}
	trace.Passed(connection.Authenticate)
	trace.Passed(connection.Database)
	h.wire.release()
	return nil
}

// configure sets every field that matters; there is no data source name that could set others.
func configure(h *handshake) (msdsn.Config, error) {
	c := h.to.Credential
	encryption, config, err := h.encryption()
	return msdsn.Config{
		Host: h.name, Port: uint64(c.Port()), Protocols: []string{"tcp"},
		Database: c.Text(connection.FieldDatabase),
		User:     c.Text(connection.FieldUsername), Password: c.Secret(connection.FieldPassword).Reveal(),
		Encryption: encryption, TLSConfig: config,
		ReadOnlyIntent: true, // an availability group listener may choose a readable secondary
		AppName:        "atrium", DisableRetry: true,
		DialTimeout: -1, // the context has it
		Encoding:    msdsn.EncodeParameters{Timezone: time.UTC, GuidConversion: true},
	}, err
}

// prepare sets what the session's statements need. Each statement sees one snapshot of the data if the database allows
// that; otherwise it reads committed rows, as the server's default is.
func (s *session) prepare() error {
	lock := strconv.FormatInt(max(1, s.to.Limits.Statement.Milliseconds()), 10)
	rows, err := s.query(`SET LOCK_TIMEOUT ` + lock + `; SET DEADLOCK_PRIORITY LOW;
		SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CONVERT(int, SERVERPROPERTY('EngineEdition')),
			DB_NAME(), ISNULL((SELECT CONVERT(int, snapshot_isolation_state) FROM sys.databases
			WHERE database_id = DB_ID()), 0)`)
	if err != nil {
		return err
	}
	if len(rows) != 1 || !warehouse.Filled(rows[0], 4) {
		return connection.NotThisDatabase
	}
	s.version, s.database = *rows[0][0], *rows[0][2]
	if s.edition, err = strconv.Atoi(*rows[0][1]); err != nil {
		return connection.NotThisDatabase
	}
	if s.isTooOld() {
		return connection.UnsupportedVersion
	}
	if *rows[0][3] == "1" {
		_, err = s.query(`SET TRANSACTION ISOLATION LEVEL SNAPSHOT`)
	}
	return err
}

// firstVersion is SQL Server 2016, whose catalogue has all that is read.
const firstVersion = 13

// isTooOld reports whether the server lacks what is read. Azure's services always report version 12.
func (s *session) isTooOld() bool {
	major, _, _ := strings.Cut(s.version, ".")
	n, err := strconv.Atoi(major)
	return err != nil || (s.edition <= lastEdition && n < firstVersion)
}

// query runs one statement and returns its rows as text; nil for NULL.
func (s *session) query(sql string, args ...any) (all [][]*string, err error) {
	err = s.each(sql, args, nil, func(row []*string) error {
		all = append(all, row)
		return nil
	})
	return all, err
}

// each runs one statement and gives its rows to do, as text. The texts of its columns are the elements of columns; nil
// stands for texts and integers.
func (s *session) each(sql string, args []any, columns []column, handle func([]*string) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement)
	defer cancel()
	// The driver asks the server to end the statement (MS-TDS, Attention), and waits for its confirmation.
	patient, end := context.WithCancel(context.WithoutCancel(s.ctx))
	defer end()
	endSoon := func() { time.AfterFunc(warehouse.CancelTimeout, end) }
	defer context.AfterFunc(ctx, endSoon)()
	defer warehouse.Limit(patient, s.wire)()
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	var handlerErr error
	err := recoverPanics(func() error {
		stmt, err := s.conn.PrepareContext(ctx, sql)
		if err != nil {
			return err
		}
		statement := stmt.(driver.StmtQueryContext) //nolint:errcheck // all of this driver's are
		rows, err := statement.QueryContext(ctx, values)
		if err != nil {
			return err
		}
		handlerErr, err = s.read(ctx, rows, columns, handle)
		if _, ok := errors.AsType[mssql.Error](err); err != nil && !ok {
			return err // the driver has already ended the statement, or cannot
		}
		endSoon()
		return errors.Join(err, rows.Close()) // which ends a statement that is not done
	})
	if handlerErr != nil {
		return handlerErr
	}
	return s.classify(ctx, err)
}

// read gives rows to do, whose error it returns first.
func (s *session) read(
	ctx context.Context, rows driver.Rows, columns []column, handle func([]*string) error,
) (handlerErr, err error) {
	row := make([]driver.Value, len(rows.Columns()))
	if columns != nil && len(row) != len(columns) {
		return nil, connection.NotThisDatabase
	}
	for {
		if err := ctx.Err(); err != nil { // the driver prefers rows that have arrived
			return s.classify(ctx, err), nil
		}
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return nil, err
		}
		texts := make([]*string, len(row))
		for i, v := range row {
			if v == nil {
				continue
			}
			c := column{}
			if columns != nil {
				c = columns[i]
			}
			text, ok := c.text(v)
			if !ok {
				return connection.NotThisDatabase, nil
			}
			texts[i] = &text
		}
		if err := handle(texts); err != nil {
			return err, nil
		}
	}
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

// Close ends the session. The driver's own Close would reuse buffers that its reader may still fill.
func (s *session) Close() { _ = s.wire.Close() }
