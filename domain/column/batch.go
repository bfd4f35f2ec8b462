package column

// MaxValue is the most characters of a value that is read for an application. Longer ones are cut.
const MaxValue = 64 << 10

// Batch is a part of the rows of a table, as they are read one after another.
type Batch struct {
	Version string      // of the file that the rows are read from, in the first batch; empty for a warehouse's table
	Missing []string    // columns that the table does not have, in the first batch; no rows follow
	Sample  [][]*string // the rows directly below the header, in the first batch of a file: see StyleOf
	Numbers []int       // of the rows in their file, from 1; empty for a warehouse's table
	Rows    [][]*string // a value for each column that was asked for
}

// Names returns the names that Examine gives to the columns of a header, whose cells may be longer than MaxCell, in a
// table of a width.
func Names(header []*string, width int) []string {
	cells := make([]*string, len(header))
	for i, c := range header {
		if c != nil {
			cells[i] = Cell(*c)
		}
	}
	return distinct(cells, width)
}
