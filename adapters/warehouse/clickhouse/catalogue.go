package clickhouse

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// ours restricts system.tables to the users' tables in the connection's database that can be read without side effects.
// The catalogue shows a user only what the user may see. It excludes tables with the rows of materialized views, and
// engines that deliver each row once, or none at all.
const ours = `database = currentDatabase() AND is_temporary = 0 AND NOT startsWith(name, '.inner')
	AND engine NOT IN ('Kafka', 'RabbitMQ', 'NATS', 'FileLog', 'S3Queue', 'AzureQueue', 'Redis', 'WindowView', 'Set')`

// Read identifies the server, and checks that its catalogue can be read.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = "ClickHouse", warehouse.Word(s.server.version)
	_, err := s.query(`SELECT name FROM system.tables WHERE ` + ours + ` LIMIT 1`)
	return err
}

// CanWrite reports whether the user's settings allow changes. Since version 20 grants may deny them as well. Only
// statements can list grants, so a user who is restricted by grants counts as one who can write.
func (s *session) CanWrite() (bool, error) { return !s.server.readonly, nil }

// Tables lists a page of tables. Names are compared by their bytes.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	database := s.to.Credential.Text(connection.FieldDatabase)
	start := q.After.Name
	switch c := strings.Compare(q.After.Schema, database); {
	case c > 0 || !isText(start):
		return nil, nil
	case c < 0:
		start = ""
	}
	rows, err := s.query(`SELECT name, engine, ` + s.estimate() + ` FROM system.tables WHERE ` + ours + `
		AND name > ` + literal(start) + ` ORDER BY name LIMIT ` + strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables)))
	if err != nil {
		return nil, err
	}
	estimates := map[string]string{}
	if !s.server.totalRows && len(rows) > 0 {
		if estimates, err = s.parts(rows); err != nil {
			return nil, err
		}
	}
	var tables []connection.Table
	for _, row := range rows {
		if !warehouse.Filled(row, 3) {
			return nil, connection.NotThisDatabase
		}
		t := connection.Table{TableRef: connection.TableRef{Schema: database, Name: *row[0]}, Kind: kindOf(*row[1])}
		estimate := *row[2]
		if n, ok := estimates[t.Name]; ok {
			estimate = n
		}
		if t.RowEstimate, err = strconv.ParseInt(estimate, 10, 64); err != nil {
			return nil, connection.NotThisDatabase
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// estimate is the expression for the number of a table's rows, as text; -1 if it is unknown.
func (s *session) estimate() string {
	if s.server.totalRows {
		return `ifNull(toString(total_rows), '-1')`
	}
	return `if(engine LIKE '%MergeTree', '0', '-1')` // for those without parts
}

// parts counts the rows of tables by their parts.
func (s *session) parts(tables [][]*string) (map[string]string, error) {
	var names []string
	for _, row := range tables {
		if warehouse.Filled(row, 3) {
			names = append(names, literal(*row[0]))
		}
	}
	rows, err := s.query(`SELECT table, toString(sum(rows)) FROM system.parts
		WHERE active AND database = currentDatabase() AND table IN (` + strings.Join(names, `, `) + `) GROUP BY table`)
	if err != nil {
		return nil, err
	}
	counts := map[string]string{}
	for _, row := range rows {
		if !warehouse.Filled(row, 2) {
			return nil, connection.NotThisDatabase
		}
		counts[*row[0]] = *row[1]
	}
	return counts, nil
}

// kindOf reads an engine's name.
func kindOf(engine string) connection.TableKind {
	switch engine {
	case "View", "LiveView":
		return connection.View
	case "MaterializedView":
		return connection.MaterializedView
	case "MySQL", "PostgreSQL", "MongoDB", "SQLite", "ODBC", "JDBC", "URL", "S3", "HDFS", "AzureBlobStorage", "Hive",
		"DeltaLake", "Iceberg", "Hudi":
		return connection.ExternalTable
	}
	return connection.BaseTable
}

// isText reports whether s can be a name.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
