package databricks

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// catalogueSchema is the schema in a catalog that describes the others.
const catalogueSchema = "information_schema"

// Read checks that the catalog's tables can be listed.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = "Databricks SQL", warehouse.Word(s.version)
	_, err := s.query(`SELECT table_name FROM ` + s.view("tables") + ` LIMIT 1`)
	return err
}

// reading are the privileges that do not permit changes ("Unity Catalog privileges and securable objects").
var reading = []string{"SELECT", "USE CATALOG", "USE SCHEMA", "BROWSE", "EXECUTE", "READ VOLUME"}

// CanWrite reports whether the user was granted more than reading in the catalog, directly or as one of all users.
// Privileges of other groups are not examined.
func (s *session) CanWrite() (bool, error) {
	var parts []string
	for _, view := range []string{"catalog_privileges", "schema_privileges", "table_privileges"} {
		parts = append(parts, `SELECT privilege_type FROM `+s.view(view)+` WHERE grantee IN (:user, 'account users')`)
	}
	rows, err := s.query(strings.Join(parts, ` UNION `)+` LIMIT 100`, textParameter("user", s.user))
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !warehouse.Filled(row, 1) {
			return false, connection.NotThisDatabase
		}
		if !slices.Contains(reading, strings.ReplaceAll(*row[0], "_", " ")) {
			return true, nil
		}
	}
	return false, nil
}

// Tables lists a page of tables. The catalog shows a user only those on which they have any privilege.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	if !isText(q.After.Schema) || !isText(q.After.Name) {
		return nil, nil
	}
	rows, err := s.query(`SELECT table_schema, table_name, table_type FROM `+s.view("tables")+
		` WHERE table_schema <> 'information_schema'`+
		` AND (table_schema > :schema OR table_schema = :schema AND table_name > :name)`+
		` ORDER BY table_schema, table_name LIMIT `+strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables)),
		textParameter("schema", q.After.Schema), textParameter("name", q.After.Name))
	if err != nil {
		return nil, err
	}
	var tables []connection.Table
	for _, row := range rows {
		if !warehouse.Filled(row, 3) {
			return nil, connection.NotThisDatabase
		}
		tables = append(tables, connection.Table{TableRef: connection.TableRef{Schema: *row[0], Name: *row[1]},
			Kind: kindOf(*row[2]), RowEstimate: -1})
	}
	return tables, nil
}

// kindOf reads table_type.
func kindOf(tableType string) connection.TableKind {
	switch tableType {
	case "VIEW", "METRIC_VIEW":
		return connection.View
	case "MATERIALIZED_VIEW":
		return connection.MaterializedView
	case "FOREIGN":
		return connection.ExternalTable // in another system; tables of type EXTERNAL are only in another bucket
	}
	return connection.BaseTable
}

// columns lists a table's columns in their order; none if there is no such table.
func (s *session) columns(ref connection.TableRef) ([]connection.Column, error) {
	if ref.Schema == "" || ref.Schema == catalogueSchema || ref.Name == "" || !isText(ref.Schema) ||
		!isText(ref.Name) {
		return nil, nil
	}
	rows, err := s.query(`SELECT column_name, LEFT(full_data_type, 256), is_nullable FROM `+s.view("columns")+
		` WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position`+
		` LIMIT `+strconv.Itoa(connection.MaxListed),
		textParameter("schema", ref.Schema), textParameter("name", ref.Name))
	if err != nil {
		return nil, err
	}
	var columns []connection.Column
	for _, row := range rows {
		if !warehouse.Filled(row, 3) {
			return nil, connection.NotThisDatabase
		}
		columns = append(columns, connection.Column{Name: *row[0], DatabaseType: *row[1], Type: typeOf(*row[1]),
			Nullable: *row[2] == "YES", Unordered: !orders(*row[1])})
	}
	return columns, nil
}

// isText reports whether s can be a name.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
