package snowflake

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Read checks that the database's tables can be listed. Neither Read nor CanWrite starts the
// warehouse, which would cost money.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = "Snowflake", warehouse.Word(s.version)
	_, err := s.query(`SHOW TERSE OBJECTS IN DATABASE ` + quote(s.database) + ` LIMIT 1`)
	return err
}

// reading are the privileges that do not permit changes.
var reading = []string{"USAGE", "SELECT", "REFERENCES", "MONITOR", "OPERATE", "READ", "REFERENCE_USAGE",
	"IMPORTED PRIVILEGES"}

// CanWrite reports whether the role itself was granted more than reading. The command lists roles that were granted to
// it, but not their privileges.
func (s *session) CanWrite() (bool, error) {
	if s.role == "" {
		return false, nil
	}
	rows, err := s.query(`SHOW GRANTS TO ROLE ` + quote(s.role))
	if errors.Is(err, connection.PermissionDenied) {
		return false, nil // it may not run the command
	}
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if len(row) < 2 || row[1] == nil { // created_on, privilege, …
			return false, connection.NotThisDatabase
		}
		if !slices.Contains(reading, *row[1]) {
			return true, nil
		}
	}
	return false, nil
}

// catalogue is the database's own.
func (s *session) catalogue(view string) string {
	return quote(s.database) + `.INFORMATION_SCHEMA.` + view
}

// Tables lists a page of tables. The catalogue shows a role only those on which it has any privilege.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	if !isText(q.After.Schema) || !isText(q.After.Name) {
		return nil, nil
	}
	rows, err := s.query(`SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TO_VARCHAR(COALESCE(ROW_COUNT, -1)) FROM `+
		s.catalogue("TABLES")+`
		WHERE TABLE_SCHEMA <> 'INFORMATION_SCHEMA' AND (TABLE_SCHEMA > ? OR TABLE_SCHEMA = ? AND TABLE_NAME > ?)
		ORDER BY TABLE_SCHEMA, TABLE_NAME
		LIMIT `+strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables)), q.After.Schema, q.After.Schema, q.After.Name)
	if err != nil {
		return nil, err
	}
	var tables []connection.Table
	for _, row := range rows {
		if !warehouse.Filled(row, 4) {
			return nil, connection.NotThisDatabase
		}
		t := connection.Table{TableRef: connection.TableRef{Schema: *row[0], Name: *row[1]}, Kind: kindOf(*row[2])}
		if t.RowEstimate, err = strconv.ParseInt(*row[3], 10, 64); err != nil {
			return nil, connection.NotThisDatabase
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// kindOf reads TABLE_TYPE.
func kindOf(tableType string) connection.TableKind {
	switch tableType {
	case "VIEW":
		return connection.View
	case "MATERIALIZED VIEW":
		return connection.MaterializedView
	case "EXTERNAL TABLE":
		return connection.ExternalTable
	}
	return connection.BaseTable
}

// isText reports whether s can be a name.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
