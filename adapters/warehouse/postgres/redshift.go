package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// redshift is a session with Amazon Redshift: the protocol is PostgreSQL 8.0's, and the catalogue its own. All
// statements use only what the Amazon Redshift Database Developer Guide documents, and statements about rows no
// function that only its leader node has.
type redshift struct{ *session }

// redshiftMark is in what version() returns: "PostgreSQL 8.0.2 on i686-pc-linux-gnu, …, Redshift 1.0.48805".
const redshiftMark = "Redshift "

// openRedshift opens a session. api gives the password if the credential has an AWS key.
func openRedshift(
	ctx context.Context, n warehouse.Network, target ports.Target, t *warehouse.Trace, api warehouse.RedshiftAPI,
) (*redshift, error) {
	if c := target.Credential; c.UsesTemporaryPasswords() {
		if err := warehouse.FetchToken(ctx, n, target, t, func(ctx context.Context, n warehouse.Network) (err error) {
			target.Credential, err = api.SignIn(ctx, n, c)
			return err
		}); err != nil {
			return nil, err
		}
	}
	s, err := open(ctx, n, target, t, `SET LOCAL extra_float_digits = 2`)
	if err != nil {
		return nil, err
	}
	// A view that uses functions of the leader node, and a failure of a node or of an external table.
	s.unreadable = []string{"0A000", "XX000"}
	return &redshift{s}, nil
}

// These select users' relations from a view. The schemas that begin with pg_ are the system's.
const (
	redshiftOurs = ` WHERE database_name = current_database() AND schema_name <> 'information_schema' ` +
		`AND left(schema_name, 3) <> 'pg_'`
	redshiftSchemas = ` <> 'information_schema' AND left(nspname, 3) <> 'pg_' AND ` +
		`has_schema_privilege(nspname, 'create') LIMIT 1`
)

// redshiftRead are the statements of Read. SVV_ALL_TABLES has the tables that the user may use, SVV_TABLES all.
var redshiftRead = []statement{
	{sql: `SELECT version()`},
	{sql: `SELECT 1 FROM svv_all_tables` + redshiftOurs + ` LIMIT 1`},
	{sql: `SELECT 1 FROM svv_tables WHERE table_catalog = current_database() AND ` +
		`table_schema <> 'information_schema' AND left(table_schema, 3) <> 'pg_' LIMIT 1`},
}

// redshiftWrites are the statements of CanWrite, each of which returns a row if the user may write.
// has_table_privilege fails for a table in a schema that the user may not use.
var redshiftWrites = []statement{
	{sql: `SELECT 1 FROM pg_user WHERE usename = current_user AND usesuper LIMIT 1`},
	{sql: `SELECT 1 WHERE has_database_privilege(current_database(), 'create')`},
	{sql: `SELECT 1 FROM pg_namespace WHERE nspname` + redshiftSchemas},
	{sql: `SELECT 1 FROM pg_tables WHERE schemaname <> 'information_schema' AND left(schemaname, 3) <> 'pg_' AND ` +
		`CASE WHEN has_schema_privilege(schemaname, 'usage') THEN ` +
		redshiftMay(`insert`) + ` OR ` + redshiftMay(`update`) + ` OR ` + redshiftMay(`delete`) +
		` ELSE false END LIMIT 1`},
}

func redshiftMay(privilege string) string {
	return `has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), '` + privilege + `')`
}

// Read identifies the server, and checks whether the user can read a table, if there are any.
func (r *redshift) Read(server *connection.Server) error {
	r.next = r.ask(slices.Concat(redshiftRead, redshiftWrites)...)
	rows, err := r.next()
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return connection.NotThisDatabase
	}
	_, version, found := strings.Cut(string(rows[0][0]), redshiftMark)
	if !found {
		return &connection.ServiceError{Code: connection.NotThisDatabase, Service: connection.ServicePostgres}
	}
	server.Product, server.Version = "Amazon Redshift", warehouse.Word(version)
	readable, err := r.next()
	if err != nil {
		return err
	}
	existing, err := r.next()
	if err != nil {
		return err
	}
	if len(readable) == 0 && len(existing) > 0 {
		return connection.PermissionDenied
	}
	return nil
}

// CanWrite reports whether the user may change data or create tables.
func (r *redshift) CanWrite() (canWrite bool, err error) {
	for range redshiftWrites {
		rows, err := r.next()
		if err != nil {
			return false, err
		}
		canWrite = canWrite || len(rows) > 0
	}
	return canWrite, nil
}

// Tables lists a page of tables. Only superusers can see the statistics of Redshift, so there are no estimates.
func (r *redshift) Tables(q connection.TableQuery) ([]connection.Table, error) {
	if !isText(q.After.Schema) || !isText(q.After.Name) {
		return nil, nil // a text that cannot be a name has no successor
	}
	limit := min(max(q.Limit, 1), connection.MaxTables)
	rows, err := r.ask(statement{`SELECT schema_name, table_name, table_type FROM svv_all_tables` + redshiftOurs + `
		AND (schema_name > ` + redshiftName(1) + ` OR schema_name = ` + redshiftName(1) + ` AND table_name > ` +
		redshiftName(2) + `) ORDER BY schema_name, table_name LIMIT ` + strconv.Itoa(limit),
		[]string{q.After.Schema, q.After.Name}})()
	if err != nil {
		return nil, err
	}
	var tables []connection.Table
	for _, row := range rows {
		if len(row) != 3 {
			return nil, connection.NotThisDatabase
		}
		kind := connection.BaseTable
		switch word := strings.ToUpper(string(row[2])); {
		case strings.Contains(word, "VIEW"):
			kind = connection.View
		case strings.Contains(word, "EXTERNAL"):
			kind = connection.ExternalTable
		}
		tables = append(tables, connection.Table{
			TableRef: connection.TableRef{Schema: string(row[0]), Name: string(row[1])}, Kind: kind, RowEstimate: -1,
		})
	}
	return tables, nil
}

// redshiftName is a parameter that is a name.
func redshiftName(number int) string { return `CAST($` + strconv.Itoa(number) + ` AS varchar(1024))` }

// Preview reads a table that the catalogue confirms.
func (r *redshift) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	all, err := r.columns(q.Table)
	p := warehouse.Chosen(q, all)
	if err != nil || q.Rows <= 0 || len(p.Columns) == 0 {
		return p, err
	}
	if err := r.keepCase(q.Table, p.Columns); err != nil {
		return p, err
	}
	rows, err := r.query(selectSample(redshiftList(p.Columns, connection.MaxCell), q))
	if err != nil {
		return p, err
	}
	for _, row := range rows {
		if err := floats(p.Columns)(row); err != nil {
			return p, err
		}
	}
	p.Rows, err = cells(rows, len(p.Columns))
	return p, err
}

// Rows implements warehouse.RowSession. The server streams the rows of one statement, which sees one snapshot.
func (r *redshift) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	tableColumns, err := r.columns(q.Table)
	if err != nil {
		return err
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	if err := r.keepCase(q.Table, append(columns, connection.Column{Name: q.Key})); err != nil {
		return err
	}
	list, order := redshiftList(columns, column.MaxValue), (*rank)(nil)
	if i := slices.IndexFunc(tableColumns, func(c connection.Column) bool { return c.Name == q.Key }); i >= 0 {
		key := `t.` + quote(q.Key)
		order = &rank{key: key, text: redshiftList(tableColumns[i:i+1], column.MaxValue)[0], value: `$1`,
			isNull: key + ` IS NULL`, nullable: tableColumns[i].Nullable}
		if tableColumns[i].Type == connection.Text { // capitals and blanks at the end may not count
			order.tie = func(text string) string { return `md5(CAST(` + text + ` AS varchar(65535)))` }
		}
		list = append(list, order.text)
	}
	chosen := &selection{order: order, args: order.args(q)}
	chosen.conditions = warehouse.Where(q, tableColumns, out, func(c connection.Column) (warehouse.Comparison, bool) {
		return redshiftComparison(c, chosen.bind)
	})
	return r.stream(list, nil, q, chosen, floats(columns), out)
}

// redshiftOrders reports whether rows can be ordered by a column, and the server reads a value's text as that value,
// which is not documented of floating-point numbers.
func redshiftOrders(c connection.Column) bool {
	switch c.Type {
	case connection.Integer, connection.Boolean, connection.Date, connection.DateTime:
		return true
	}
	switch redshiftBase(c.DatabaseType) {
	case "numeric", "decimal", "character varying", "varchar", "string", "character", "char", "bpchar":
		return true
	}
	return false
}

// keepCase makes names in double quotation marks keep their case, if one has upper case: Redshift changes it to lower
// case by default. It is not set always, because row-level security refuses sessions that change it.
func (r *redshift) keepCase(table connection.TableRef, columns []connection.Column) error {
	all := table.Schema + table.Name
	for _, c := range columns {
		all += c.Name
	}
	if all == strings.ToLower(all) {
		return nil
	}
	_, err := r.query(`SELECT set_config('enable_case_sensitive_identifier', 'true', true)`)
	return err
}
