package postgres

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// users restricts pg_namespace n to users' schemas: pg_ is reserved for the system.
const users = `n.nspname <> 'information_schema' AND left(n.nspname::text, 3) <> 'pg_'`

// ours are the tables of users. Partitions are seen through their parent table. OFFSET 0 is an optimisation fence:
// without it the conditions would be checked for the system's tables first, whose thousands of columns a new session
// has not cached. For privileges on columns, that took longer than everything else in a probe.
const ours = `(` + selectOurs + ` OFFSET 0) t`

const selectOurs = `SELECT c.oid, c.relkind, c.reltuples, c.relpages, n.oid AS namespace,
		n.nspname::text COLLATE "C" AS schema, c.relname::text COLLATE "C" AS name
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND ` + users

// readable is the condition that the user may read at least one table column.
var readable = hasPrivilege(`SELECT`, `SELECT`)

// hasPrivilege returns the condition that the user has any of some privileges on a table, or any of others on one of
// its columns. Without a privilege on the table, there are only those that were granted on columns.
func hasPrivilege(onTable, onColumn string) string {
	return `(has_schema_privilege(t.namespace, 'USAGE') AND (has_table_privilege(t.oid, '` + onTable + `') OR EXISTS (
		SELECT 1 FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped
			AND has_column_privilege(t.oid, a.attnum, '` + onColumn + `'))))`
}

const who = `SELECT version(), current_setting('server_version')`

var (
	// readsAny is whether the user can read a table, if there are any.
	readsAny = `SELECT EXISTS (SELECT 1 FROM ` + ours + ` WHERE ` + readable + `) OR NOT EXISTS (SELECT 1 FROM ` +
		ours + `)`

	// writesAny is whether the user may change data or create tables. A superuser may do everything; members of
	// pg_write_all_data may write, as the privileges on tables show.
	writesAny = `SELECT
		current_setting('is_superuser') = 'on'
		OR has_database_privilege(current_database(), 'CREATE')
		OR EXISTS (SELECT 1 FROM pg_namespace n WHERE ` + users + ` AND has_schema_privilege(n.oid, 'CREATE'))
		OR EXISTS (SELECT 1 FROM ` + ours + ` WHERE ` +
		hasPrivilege(`INSERT, UPDATE, DELETE, TRUNCATE`, `INSERT, UPDATE`) + `)`
)

// Read identifies the server, and checks whether the user can read a table, if there are any. It also sends CanWrite's
// query, to save a round trip.
func (s *session) Read(server *connection.Server) error {
	s.next = s.ask(statement{sql: who}, statement{sql: readsAny}, statement{sql: writesAny})
	rows, err := s.next()
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return connection.NotThisDatabase
	}
	if strings.Contains(string(rows[0][0]), redshiftMark) {
		return &connection.ServiceError{Code: connection.NotThisDatabase, Service: connection.ServiceRedshift}
	}
	server.Product, server.Version = product(string(rows[0][0])), warehouse.Word(string(rows[0][1]))
	if rows, err = s.next(); err != nil {
		return err
	}
	if !isTrue(rows) {
		return connection.PermissionDenied // there are tables, and none that the user may read
	}
	return nil
}

// CanWrite reports whether the user may change data or create tables.
func (s *session) CanWrite() (bool, error) {
	rows, err := s.next()
	return isTrue(rows), err
}

// product returns the name of the product that speaks PostgreSQL's protocol.
func product(version string) string {
	for mark, name := range map[string]string{
		"CockroachDB": "CockroachDB", "Greenplum": "Greenplum", "-YB-": "YugabyteDB",
	} {
		if strings.Contains(version, mark) {
			return name
		}
	}
	return "PostgreSQL"
}

func isTrue(rows [][][]byte) bool {
	return len(rows) == 1 && len(rows[0]) == 1 && string(rows[0][0]) == "t"
}

// Tables lists a page of tables. reltuples is -1 for a table that was never analysed; before PostgreSQL 14 it
// was 0.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	if !isText(q.After.Schema) || !isText(q.After.Name) {
		return nil, nil // a text that cannot be a name has no successor
	}
	rows, err := s.ask(statement{`SELECT t.schema, t.name, t.relkind::text,
			CASE WHEN t.relkind IN ('v', 'f') OR t.reltuples < 0 OR t.reltuples = 0
			AND t.relpages = 0 THEN -1 ELSE t.reltuples::bigint END
		FROM ` + ours + ` WHERE (t.schema, t.name) > ($1::text, $2::text) AND ` + readable + `
		ORDER BY t.schema, t.name LIMIT $3::int`,
		[]string{q.After.Schema, q.After.Name, strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables))}})()
	if err != nil {
		return nil, err
	}
	kinds := map[string]connection.TableKind{
		"v": connection.View, "m": connection.MaterializedView, "f": connection.ExternalTable,
	}
	var tables []connection.Table
	for _, row := range rows {
		if len(row) != 4 {
			return nil, connection.NotThisDatabase
		}
		t := connection.Table{TableRef: connection.TableRef{Schema: string(row[0]), Name: string(row[1])},
			Kind: kinds[string(row[2])]}
		if t.Kind == "" {
			t.Kind = connection.BaseTable
		}
		if t.RowEstimate, err = strconv.ParseInt(string(row[3]), 10, 64); err != nil {
			return nil, connection.NotThisDatabase
		}
		tables = append(tables, t)
	}
	return tables, nil
}
