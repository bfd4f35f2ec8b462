package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// openDeclaring opens a database of PostgreSQL that fails t if a transaction changes what it does not declare: before
// each commit it compares the workspaces that triggers have noted with those that the stores have declared. On SQLite,
// which has no such triggers, only the declarations keep what is cached true.
func openDeclaring(t *testing.T, url string, sealer ports.Sealer) *sqlstore.Store {
	t.Helper()
	var db *sqlstore.Store
	check := func(conn driver.QueryerContext) {
		for _, ws := range noted(conn) {
			if _, isSettled := db.Generation(identity.WorkspaceID(ws)); isSettled {
				t.Errorf("a transaction changes the workspace %q and does not declare it", ws)
			}
		}
	}
	db, closeDB, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: secret.New(url), MaxConns: 10,
		StatementTimeout: proof.Patience}, sealer, func(c driver.Connector) *sql.DB {
		return sql.OpenDB(checkedConnector{c, check})
	})
	require.NoError(t, err)
	t.Cleanup(closeDB)
	return db
}

// noted returns the workspaces that the transaction of a connection has changed, by the triggers; none after an error,
// with which it cannot commit either.
func noted(conn driver.QueryerContext) (workspaces []string) {
	rows, err := conn.QueryContext(context.Background(), `SELECT workspace_id FROM workspace_changes
		WHERE xid = pg_current_xact_id_if_assigned()::text::bigint`, nil)
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	for rows.Next(row) == nil {
		switch ws := row[0].(type) {
		case string:
			workspaces = append(workspaces, ws)
		case []byte:
			workspaces = append(workspaces, string(ws))
		}
	}
	return workspaces
}

// checkedConnector calls check before each commit.
type checkedConnector struct {
	driver.Connector
	check func(driver.QueryerContext)
}

func (c checkedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return checkedConn{conn.(postgresConn), c.check}, nil
}

type postgresConn interface {
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

type checkedConn struct {
	postgresConn
	check func(driver.QueryerContext)
}

func (c checkedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.postgresConn.BeginTx(ctx, opts)
	return checkedTx{tx, c}, err
}

type checkedTx struct {
	driver.Tx
	conn checkedConn
}

func (t checkedTx) Commit() error {
	t.conn.check(t.conn)
	return t.Tx.Commit()
}
