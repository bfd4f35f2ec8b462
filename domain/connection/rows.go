package connection

import "github.com/atrium-hq/atrium/domain/column"

// Codes of reads of rows, which are no connection failures.
const (
	RowsUnsupported Code = "rows_unsupported" // the kind of connection cannot stream rows yet
	KeyUnsupported  Code = "key_unsupported"  // the type of RowsQuery.Key has no order, or no exact text
)

// RowsQuery asks for a table's rows, one after another.
type RowsQuery struct {
	Table   TableRef
	Columns []string // in the order in which their values are returned
	Where   []Condition

	// Key is one of Columns, to order rows by, in the order of its type and those without a value last; empty: the
	// database's order. Rows then have one more value: where they are in this order, as After wants it; nil if none can
	// follow. It is no text of the key.
	Key   string
	After *string // only rows behind this place; nil: all rows
	Limit int     // the most rows

	Sort *Sort // nil for none

	// Count asks only for the number of the table's rows (column.Batch.Total). A kind that has no short way to it
	// ignores it, and returns the rows.
	Count bool
}

// Sort orders rows by a column before RowsQuery.Key does: by the order of column.Compare as far as the database has it,
// and those without a value last. A warehouse that does so tells it in column.Batch, and its rows have one more value
// behind the place of the key: where they are in this order, as After wants it; nil if none can follow. Others read the
// rows as if it were nil.
type Sort struct {
	Column     string      // one of RowsQuery.Columns
	Type       column.Type // of the field to which the column is mapped
	Descending bool
	Limit      int // the most rows, instead of RowsQuery.Limit

	// After is the place behind which rows are. Of those that have the same value, only rows behind RowsQuery.After
	// are: none if it is nil, since rows without a key are the last ones. nil: all rows.
	After *string
}

// Condition is a column.Condition on the values of one of RowsQuery.Columns, before any transformation. A warehouse
// leaves out rows that do not satisfy it as far as its types allow, and never one that satisfies it.
type Condition struct {
	Column   string
	Type     column.Type // of the field to which the column is mapped
	Operator column.Operator
	Values   []*string // as column.Value has them; nil for no value
}
