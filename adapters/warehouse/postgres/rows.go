package postgres

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// wholeFloats returns a function that writes all digits of whole floating-point numbers in a row; nil if no column has
// such numbers.
func wholeFloats(columns []connection.Column) func(row [][]byte) error {
	bits := map[int]int{}
	for i, c := range columns {
		switch c.DatabaseType {
		case "real":
			bits[i] = 32
		case "double precision":
			bits[i] = 64
		}
	}
	if len(bits) == 0 {
		return nil
	}
	return func(row [][]byte) error {
		for i, size := range bits {
			if row[i] != nil {
				row[i] = []byte(warehouse.WholeFloat(string(row[i]), size))
			}
		}
		return nil
	}
}

// Rows implements warehouse.RowSession. The server streams the rows of one statement, which sees one snapshot.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	tableColumns, err := s.columns(q.Table)
	if err != nil {
		return err
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	if q.Count {
		return s.count(q.Table, out)
	}
	list, cut := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		name := `c` + strconv.Itoa(i)
		list[i] = named(textOf(c), `t.`+quote(c.Name)) + ` AS ` + name
		cut[i] = name
		if !isShort(c.Type) { // the length in bytes is known without counting characters
			cut[i] = `CASE WHEN pg_catalog.octet_length(` + name + `) > ` + maxValue + ` THEN pg_catalog.left(` + name +
				`, ` + maxValue + `) ELSE ` + name + ` END`
		}
	}
	var order *rank
	if i := slices.IndexFunc(tableColumns, func(c connection.Column) bool { return c.Name == q.Key }); i >= 0 {
		key := `t.` + quote(q.Key)
		order = &rank{key: key, text: key + `::pg_catalog.text`, value: `$1::` + tableColumns[i].DatabaseType,
			isNull: key + ` IS NULL`, nullable: tableColumns[i].Nullable}
		if hasTies(tableColumns[i]) {
			order.isNull = key + ` IS NOT DISTINCT FROM NULL` // a row of NULLs is a value
			order.tie = func(text string) string { return text + `::pg_catalog.text COLLATE pg_catalog."C"` }
		}
		list, cut = append(list, order.text+` AS place`), append(cut, place(`place`))
	}
	chosen := &selection{order: order, args: order.args(q)}
	chosen.sort = warehouse.SortOf(q, tableColumns, out, func(c connection.Column) (warehouse.Order, bool) {
		return orderOf(c, chosen.bind)
	})
	if chosen.sort != nil {
		list, cut = append(list, chosen.sort.RowPlace()+` AS sorted`), append(cut, place(`sorted`))
	}
	chosen.conditions = warehouse.Where(q, tableColumns, out, func(c connection.Column) (warehouse.Comparison, bool) {
		return comparison(c, chosen.bind)
	})
	return s.stream(list, cut, q, chosen, wholeFloats(columns), out)
}

// count sends the number of a table's rows.
func (s *session) count(table connection.TableRef, out *warehouse.Batches) error {
	rows, err := s.query(`SELECT pg_catalog.count(*)::pg_catalog.text FROM ` + quote(table.Schema) + `.` +
		quote(table.Name))
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return connection.NotThisDatabase
	}
	return out.Total(string(rows[0][0]))
}

// orderOf returns how rows are ordered by a column's values, whatever its collation: false if that is not known to be
// the order of the field's values.
func orderOf(c connection.Column, bind func(string) string) (warehouse.Order, bool) {
	compared, ok := comparison(c, bind)
	order := warehouse.Order{Key: compared.Name, Place: `'v' || t.` + quote(c.Name) + `::pg_catalog.text`,
		Nullable: c.Nullable, NullsLast: true,
		Value: func(text string) string { return bind(text) + `::` + c.DatabaseType }}
	if compared.Ordered != nil {
		order.Key, order.Value = compared.Ordered(compared.Name), func(text string) string {
			return compared.Ordered(compared.Value(text))
		}
		order.Place = `'v' || ` + order.Key
	}
	return order, ok
}

// rank is how the rows of table t are in a column's order: by its type. The text only identifies which value it is.
type rank struct {
	key, text string // the column, and its value as a text that loses nothing
	value     string // the expression of the value of the text $1
	isNull    string // the condition that there is none
	nullable  bool

	// tie returns what decides between values that are equal and have different texts, such as 1.0 and 1.00. nil if
	// equal values have the same text.
	tie func(text string) string
}

// place returns a text as where a row is: NULL if it is so long that it takes too much of a request.
func place(text string) string {
	return `CASE WHEN pg_catalog.octet_length(` + text + `) < ` + maxValue + ` THEN ` + text + ` END`
}

// hasTies reports whether a column's values can be equal and have different texts.
func hasTies(c connection.Column) bool {
	word, _, _ := strings.Cut(c.DatabaseType, "(")
	switch word {
	case "smallint", "integer", "bigint", "oid", "boolean", "uuid", "bytea", "name", "inet", "cidr", "macaddr", "date":
		return false
	}
	return !strings.HasPrefix(word, "timestamp")
}

// args returns the arguments of beyond: a query's place, twice if its text decides. None if the query has none.
func (r *rank) args(q connection.RowsQuery) (args [][]byte) {
	if r == nil || q.After == nil {
		return nil
	}
	args = [][]byte{[]byte(*q.After)}
	if r.tie != nil {
		args = append(args, args[0])
	}
	return args
}

// selection is which rows of table t are read, and in which order.
type selection struct {
	order      *rank            // nil for none
	sort       *warehouse.Order // before order; nil for none
	conditions []string
	args       [][]byte // of the statement, first the arguments of order; sort may add some
}

// bind adds an argument, and returns its expression.
func (s *selection) bind(text string) string {
	s.args = append(s.args, []byte(text))
	return `$` + strconv.Itoa(len(s.args))
}

// beyond returns the condition that a row is behind the one with the key $1, which is $2 if its text decides.
func (r *rank) beyond() string {
	condition := r.key + ` > ` + r.value
	if r.tie != nil {
		condition = r.key + ` >= ` + r.value + ` AND (` + condition + ` OR ` + r.tie(r.text) + ` > ` + r.tie(`$2`) + `)`
	}
	if r.nullable {
		condition += ` OR ` + r.isNull
	}
	return condition
}

// stream sends the selected rows of table t to out. list has an expression for each of q's columns, and for a row's
// place, and cut one of its result, if there is any: so that each value is computed once. exact changes a row's values
// that the server writes in another way, or nil.
func (s *session) stream(
	list, cut []string, q connection.RowsQuery, rows *selection, exact func([][]byte) error, out *warehouse.Batches,
) error {
	sql := `SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(q.Table.Schema) + `.` + quote(q.Table.Name) + ` AS t`
	tail, ordered := ``, ``
	if order := rows.order; order != nil {
		ordered = order.key // NULL is the greatest
		if order.tie != nil {
			ordered += `, ` + order.tie(order.text)
		}
		if q.After != nil {
			tail = order.beyond()
		}
	}
	conditions, err := rows.sort.AddBehind(rows.conditions, q, tail)
	if err != nil {
		return err
	}
	sql += warehouse.Clause(conditions) + rows.sort.ByBoth(q, ordered) + ` LIMIT ` +
		strconv.Itoa(rows.sort.MostRows(q))
	if cut != nil { // the limit keeps the two from becoming one
		sql = `SELECT ` + strings.Join(cut, `, `) + ` FROM (` + sql + `) AS s`
	}
	result := s.conn.ExecParams(s.ctx, sql, rows.args, nil, nil, nil)
	for result.NextRow() {
		values := result.Values()
		if len(values) != len(list) {
			return connection.NotThisDatabase
		}
		if exact != nil {
			if err := exact(values); err != nil {
				return err
			}
		}
		if err := out.AddBytes(values); err != nil {
			return err
		}
	}
	_, err = result.Close()
	return s.classifyRows(err)
}

const maxValue = "65536" // column.MaxValue

// isShort reports whether no value with a type can be longer than column.MaxValue.
func isShort(t connection.Type) bool {
	return t == connection.Integer || t == connection.Boolean || t == connection.Date || t == connection.DateTime
}
