// Package source holds sources of data: tables of spreadsheets and warehouses whose columns stand
// for the fields of a type, how such columns are found, and which of them a field is likely to be.
package source

// TypeKey names a type of source, such as contacts.
type TypeKey string

// Backend says what holds a source's rows.
type Backend string

// The backends.
const (
	SheetBackend     Backend = "sheet"
	WarehouseBackend Backend = "warehouse"
)

// FieldType is what the values of a field, or those of a column, are.
type FieldType string

// The types of fields. Of a column, Infer says all but Enum.
const (
	String   FieldType = "string" // one line
	Text     FieldType = "text"
	Integer  FieldType = "integer"
	Number   FieldType = "number"
	Boolean  FieldType = "boolean"
	Date     FieldType = "date"
	DateTime FieldType = "datetime"
	URL      FieldType = "url"
	Email    FieldType = "email"
	Enum     FieldType = "enum"
	JSON     FieldType = "json"
)

// Field is one thing that rows of a type tell.
type Field struct {
	Key      string // lower snake_case, unique in its type
	Title    string
	Type     FieldType
	Required bool     // a mapping must name a column for it
	Unique   bool     // no two rows have the same value
	Synonyms []string // other names that columns have for it, the likelier first
	Enum     []string // the values of an Enum; of no other type
	Example  string
}

// Type is a kind of data that an org takes in: what its rows tell, and where they may come from.
// Types are configuration; CheckTypes says what is wrong with them.
type Type struct {
	Key     TypeKey
	Title   string
	Accepts []Backend
	Fields  []Field
}
