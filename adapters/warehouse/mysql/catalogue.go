package mysql

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// ours restricts information_schema.TABLES to the users' tables in the connection's database. The server shows only
// those on which the user has any privilege.
const ours = `TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW')`

// readable restricts them to tables of which the user may read at least one column. COLUMNS has the user's privileges,
// including roles' privileges.
const readable = `CAST(TABLE_NAME AS BINARY) IN (SELECT CAST(TABLE_NAME AS BINARY) FROM information_schema.COLUMNS
	WHERE TABLE_SCHEMA = DATABASE() AND FIND_IN_SET('select', PRIVILEGES) > 0)`

// Read identifies the server, and checks whether the user can read a table, if there are any.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = product(s.version), warehouse.Word(s.version)
	const from = ` FROM information_schema.TABLES WHERE ` + ours
	rows, err := s.query(`SELECT EXISTS (SELECT 1` + from + ` AND ` + readable + `) OR NOT EXISTS (SELECT 1` + from +
		`)`)
	if err != nil {
		return err
	}
	if !isTrue(rows) {
		return connection.PermissionDenied // there are tables, and none that the user may read
	}
	return nil
}

// product returns the name of the product that speaks MySQL's protocol.
func product(version string) string {
	for _, name := range []string{"MariaDB", "TiDB", "OceanBase", "Vitess"} {
		if strings.Contains(version, name) {
			return name
		}
	}
	return "MySQL"
}

// CanWrite reports whether the user may change data or anything else. Privileges that only let read
// are listed, so that unknown ones of future versions count as writing. Rights to delete or create that come
// only from a role are not seen: the catalogue does not show them.
func (s *session) CanWrite() (bool, error) {
	const me = `CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - LOCATE('@', REVERSE(CURRENT_USER()))),
		'''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')`
	const granted = ` WHERE GRANTEE = ` + me +
		` AND PRIVILEGE_TYPE NOT IN ('USAGE', 'SELECT', 'SHOW VIEW', 'SHOW DATABASES', 'PROCESS', 'EXECUTE',
		'LOCK TABLES', 'CREATE TEMPORARY TABLES', 'REFERENCES', 'REPLICATION CLIENT', 'BINLOG MONITOR', 'SLAVE MONITOR',
		'SHOW_ROUTINE')`
	rows, err := s.query(`SELECT
		EXISTS (SELECT 1 FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = DATABASE() AND (FIND_IN_SET('insert', PRIVILEGES) > 0
			OR FIND_IN_SET('update', PRIVILEGES) > 0))
		OR EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES` + granted + `)
		OR EXISTS (SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES` + granted + `)
		OR EXISTS (SELECT 1 FROM information_schema.TABLE_PRIVILEGES` + granted + `)`)
	return isTrue(rows), err
}

func isTrue(rows [][]*string) bool {
	return len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] != nil && *rows[0][0] == "1"
}

// Tables lists a page of tables. Names are compared by their bytes, for any collation.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	start := q.After.Name
	switch c := strings.Compare(q.After.Schema, s.database); {
	case c > 0 || !isText(start):
		return nil, nil
	case c < 0:
		start = ""
	}
	rows, err := s.query(`SELECT TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), IF(TABLE_TYPE = 'VIEW', -1,
		COALESCE(TABLE_ROWS, -1))
		FROM information_schema.TABLES
		WHERE `+ours+` AND `+readable+` AND CAST(TABLE_NAME AS BINARY) > CAST(? AS BINARY)
		ORDER BY CAST(TABLE_NAME AS BINARY) LIMIT `+strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables)), start)
	if err != nil {
		return nil, err
	}
	var tables []connection.Table
	for _, row := range rows {
		if !warehouse.Filled(row, 4) {
			return nil, connection.NotThisDatabase
		}
		t := connection.Table{TableRef: connection.TableRef{Schema: s.database, Name: *row[0]},
			Kind: kindOf(*row[1], *row[2])}
		if t.RowEstimate, err = strconv.ParseInt(*row[3], 10, 64); err != nil {
			return nil, connection.NotThisDatabase
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// kindOf reads TABLE_TYPE and ENGINE.
func kindOf(tableType, engine string) connection.TableKind {
	if tableType == "VIEW" {
		return connection.View
	}
	switch strings.ToUpper(engine) {
	case "FEDERATED", "CONNECT", "SPIDER", "S3":
		return connection.ExternalTable
	}
	return connection.BaseTable
}

// isText reports whether s can be a name.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
