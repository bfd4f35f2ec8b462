package connection

// RowsUnsupported is the Code of a kind of connection that cannot stream rows yet. It is no failure of a connection.
const RowsUnsupported Code = "rows_unsupported"

// RowsQuery asks for the rows of a table, one after another.
type RowsQuery struct {
	Table   TableRef
	Columns []string // in the order in which their values are returned
	Key     string   // a column to order rows by, those without a value last; empty: the database's order
	After   *string  // only rows whose key is greater, or missing; nil: all rows
	Limit   int      // the most rows
}
