// Package source holds sources of data: tables of spreadsheets and warehouses whose columns are mapped
// to the fields of a type. It finds such columns, and suggests which field each belongs to.
package source

// TypeKey names a type of source, such as contacts.
type TypeKey string

// Backend says what stores a source's rows.
type Backend string

// The backends.
const (
	SheetBackend     Backend = "sheet"
	WarehouseBackend Backend = "warehouse"
)

// FieldType is the type of the values of a field or a column.
type FieldType string

// The types of fields. Infer returns all of them except Enum.
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

// Field is one field of a type's rows.
type Field struct {
	Key      string // lower snake_case, unique in its type
	Title    string
	Type     FieldType
	Required bool     // a mapping must name a column for it
	Unique   bool     // no two rows have the same value
	Synonyms []string // other names that columns have for it, the likeliest first
	Enum     []string // the values of an Enum; empty for other types
	Example  string
}

// Type is a kind of data that an org accepts: the fields of its rows, and which backends they can come
// from. Types are configuration. CheckTypes returns their errors.
type Type struct {
	Key     TypeKey
	Title   string
	Accepts []Backend
	Fields  []Field
}
