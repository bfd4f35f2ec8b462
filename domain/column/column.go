// Package column examines a table's columns. It finds the header row, infers the type of each column's values, and
// suggests which schema field each column belongs to. Its functions are pure.
package column

// Limits of what is examined and shown in a table.
const (
	MaxCell      = 256 // a cell's characters; longer ones are cut
	MaxColumns   = 200 // a table's columns; those further right are omitted
	HeaderWindow = 20  // first rows that are searched for a header
	SampleWindow = 32  // rows below the header from which types are inferred
	ShownRows    = 2   // of these, the rows that are shown by default
	MaxShownRows = 20  // of these, the most that are shown
	MinConstant  = 3   // values that must be the same for a column to be Constant
	LeadingRows  = 20  // rows directly above a header that are shown

	// MaxExtra is the most characters in leading rows and in rows after the first ShownRows together. Further rows are
	// omitted, so that a preview fits into a child process's answer.
	MaxExtra = 128 << 10
)

// Type is the type of the values in a column or a field.
type Type string

// The types. Infer returns all of them except Enum.
const (
	String   Type = "string" // one line
	Text     Type = "text"
	Integer  Type = "integer"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Date     Type = "date"
	DateTime Type = "datetime"
	URL      Type = "url"
	Email    Type = "email"
	Enum     Type = "enum"
	JSON     Type = "json"
)

// Header describes a column.
type Header struct {
	Name   string // never empty, unique in its table
	Column string // spreadsheet letters: A to GR; empty for a warehouse column
	Type   Type   // of the values below
	Empty  bool   // there are rows below, and none has a value

	Constant bool // at least MinConstant rows below have a value, and all of them the same

	Unordered bool // a table's rows cannot be in the order of its values
}

// Preview holds a table's first rows.
type Preview struct {
	HeaderRow  int     // from 1; 0 if the table is empty; NoHeader if that was given
	Confidence float64 // probability from 0 to 1 that this is the header; 1 if it was given
	Headers    []Header
	Rows       [][]*string // up to MaxShownRows rows below the header; a value for each column, nil if it is empty
	Candidates []int       // rows that may be the header, the likeliest first, if Confidence is below SureHeader
	Leading    [][]*string // up to LeadingRows rows directly above the header, as wide as their last cell
}

// Schema describes rows by the fields that columns can be mapped to.
type Schema struct {
	Key    string // lower snake_case
	Title  string
	Fields []Field
}

// Field is one schema field.
type Field struct {
	Key      string // lower snake_case, unique in its schema
	Title    string
	Type     Type
	Required bool     // a mapping must name a column for it
	Unique   bool     // no two rows have the same value
	Synonyms []string // other names that columns have for it, the likeliest first
	Enum     []string // an Enum's values; empty for other types
	Example  string
}
