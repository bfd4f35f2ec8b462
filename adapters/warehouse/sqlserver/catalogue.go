package sqlserver

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// objects joins tables and more with their schemas, and with q.name, which is the quoted name. The server shows only
// those on which the user has any permission.
const objects = ` FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
	CROSS APPLY (SELECT QUOTENAME(s.name) + N'.' + QUOTENAME(o.name) AS name) AS q`

// isTable restricts them to the users' tables and views.
const isTable = ` WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0`

const ours = objects + isTable

// readable restricts them to tables of which the user may read at least one column.
const readable = ` AND (HAS_PERMS_BY_NAME(q.name, 'OBJECT', 'SELECT') = 1 OR EXISTS (SELECT 1 FROM sys.columns AS c
	WHERE c.object_id = o.object_id AND HAS_PERMS_BY_NAME(q.name, 'OBJECT', 'SELECT', c.name, 'COLUMN') = 1))`

// lastEdition is the last EngineEdition of servers that are not Azure's.
const lastEdition = 4

// products names the values of EngineEdition that are not SQL Server's.
var products = map[int]string{
	5: "Azure SQL Database", 6: "Azure Synapse Analytics", 8: "Azure SQL Managed Instance", 9: "Azure SQL Edge",
	11: "Azure Synapse Analytics, serverless", 12: "SQL database in Microsoft Fabric",
}

// Read identifies the server, and checks whether the user can read a table, if there are any.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = "SQL Server", warehouse.Word(s.version)
	if name, ok := products[s.edition]; ok {
		server.Product = name
	}
	rows, err := s.query(`SELECT CASE WHEN EXISTS (SELECT 1` + ours + readable + `) OR NOT EXISTS (SELECT 1` + ours +
		`) THEN 1 ELSE 0 END`)
	if err != nil {
		return err
	}
	if !isTrue(rows) {
		return connection.PermissionDenied // there are tables, and none that the user may read
	}
	return nil
}

// CanWrite reports whether the user may change data or anything else. Permissions of the database that only let read
// are listed, so that unknown ones of future versions count as writing. What procedures do is not examined.
func (s *session) CanWrite() (bool, error) {
	const object = `HAS_PERMS_BY_NAME(q.name, 'OBJECT', `
	const schema = `HAS_PERMS_BY_NAME(QUOTENAME(s.name), 'SCHEMA', `
	rows, err := s.query(`SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.fn_my_permissions(NULL, 'DATABASE')
		WHERE permission_name NOT LIKE 'VIEW %' AND permission_name NOT IN ('CONNECT', 'SELECT', 'EXECUTE',
		'REFERENCES', 'SHOWPLAN', 'UNMASK', 'SUBSCRIBE QUERY NOTIFICATIONS'))
		OR EXISTS (SELECT 1 FROM sys.schemas AS s WHERE ` + schema + `'INSERT') = 1 OR ` + schema +
		`'UPDATE') = 1 OR ` + schema + `'DELETE') = 1 OR ` + schema + `'ALTER') = 1)
		OR EXISTS (SELECT 1` + ours + ` AND (` + object + `'INSERT') = 1 OR ` + object + `'UPDATE') = 1 OR ` + object +
		`'DELETE') = 1 OR ` + object + `'ALTER') = 1)) THEN 1 ELSE 0 END`)
	return isTrue(rows), err
}

func isTrue(rows [][]*string) bool {
	return len(rows) == 1 && warehouse.Filled(rows[0], 1) && *rows[0][0] == "1"
}

// Tables lists a page of tables. Names are compared by their code units, whatever the collation of the database.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	if !isText(q.After.Schema) || !isText(q.After.Name) {
		return nil, nil
	}
	const schema, name = `s.name COLLATE Latin1_General_BIN2`, `o.name COLLATE Latin1_General_BIN2`
	rows, err := s.query(`SELECT TOP (`+strconv.Itoa(min(max(q.Limit, 1), connection.MaxTables))+`) s.name, o.name,
		CASE WHEN EXISTS (SELECT 1 FROM sys.tables AS t WHERE t.object_id = o.object_id AND t.is_external = 1) THEN 'X'
		WHEN EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.object_id = o.object_id AND i.index_id = 1
		AND o.type = 'V') THEN 'M' ELSE RTRIM(o.type) END,
		ISNULL((SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id
		AND p.index_id IN (0, 1)), -1)`+ours+readable+` AND (`+schema+` > @p1 OR `+schema+` = @p1 AND `+name+` > @p2)
		ORDER BY `+schema+`, `+name, q.After.Schema, q.After.Name)
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
		if t.Kind == connection.ExternalTable {
			t.RowEstimate = -1
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func kindOf(letter string) connection.TableKind {
	switch letter {
	case "V":
		return connection.View
	case "M": // a view with a clustered index, which stores its rows
		return connection.MaterializedView
	case "X":
		return connection.ExternalTable
	}
	return connection.BaseTable
}

// isUnique is whether an index permits each value of the column c once.
const isUnique = `EXISTS (SELECT 1 FROM sys.indexes AS i JOIN sys.index_columns AS k ON k.object_id = i.object_id
	AND k.index_id = i.index_id WHERE i.object_id = c.object_id AND i.is_unique = 1 AND i.has_filter = 0
	AND i.is_disabled = 0 AND k.column_id = c.column_id AND k.key_ordinal = 1 AND NOT EXISTS (SELECT 1
	FROM sys.index_columns AS m WHERE m.object_id = i.object_id AND m.index_id = i.index_id AND m.key_ordinal > 1))`

// columns lists the columns that the user may read, in their order; none if there is no such table. Columns of Always
// Encrypted are bytes without the key, and are left out.
func (s *session) columns(ref connection.TableRef) ([]column, error) {
	if ref.Schema == "" || ref.Name == "" || !isText(ref.Schema) || !isText(ref.Name) {
		return nil, nil
	}
	rows, err := s.query(`SELECT TOP (`+strconv.Itoa(connection.MaxListed)+`) c.name, ISNULL(b.name, t.name),
		CONVERT(int, t.is_assembly_type), CONVERT(int, c.max_length), CONVERT(int, c.precision), CONVERT(int, c.scale),
		CONVERT(int, c.is_nullable), t.name, ISNULL(c.collation_name, ''), CASE WHEN `+isUnique+` THEN 1 ELSE 0 END`+
		objects+` JOIN sys.columns AS c ON c.object_id = o.object_id
		JOIN sys.types AS t ON t.user_type_id = c.user_type_id
		LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id AND t.is_assembly_type = 0`+isTable+
		` AND s.name COLLATE Latin1_General_BIN2 = @p1 AND o.name COLLATE Latin1_General_BIN2 = @p2
		AND c.encryption_type IS NULL AND HAS_PERMS_BY_NAME(q.name, 'OBJECT', 'SELECT', c.name, 'COLUMN') = 1
		ORDER BY c.column_id`, ref.Schema, ref.Name)
	if err != nil {
		return nil, err
	}
	var columns []column
	for _, row := range rows {
		if !warehouse.Filled(row, 10) {
			return nil, connection.NotThisDatabase
		}
		var n [5]int
		for i := range n {
			if n[i], err = strconv.Atoi(*row[2+i]); err != nil {
				return nil, connection.NotThisDatabase
			}
		}
		c := column{base: *row[1], clr: n[0] == 1, size: n[1], width: [2]int{n[2], n[3]},
			collation: *row[8], unique: *row[9] == "1"}
		c.Column = connection.Column{Name: *row[0], DatabaseType: c.declared(), Type: typeOf(c.base),
			Nullable: n[4] == 1}
		if alias := *row[7]; alias != c.base && !c.clr {
			c.DatabaseType = alias
		}
		_, isOrdered := c.rank()
		c.Unordered = !isOrdered
		columns = append(columns, c)
	}
	return columns, nil
}

// isText reports whether s can be part of a name.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
