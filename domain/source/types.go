package source

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/column"
)

// Limits of types.
const (
	maxTypes    = 50
	maxFields   = column.MaxColumns
	maxSynonyms = 100 // of a field
	maxEnum     = 200
	maxTitle    = 120 // characters of a title, and of a synonym
	maxExample  = column.MaxCell
)

var keyForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// TypeProblem is an error in configured types.
type TypeProblem struct {
	Key    string // location, such as [0].fields[2].key
	Reason string // without the value
}

// CheckTypes returns all errors in an org's types. Keys have 1 to 63 characters of lower snake_case and are unique.
// Titles and synonyms have 1 to 120 characters. A type accepts at least one backend and has 1 to 200 fields. An Enum,
// and no other type, has values.
func CheckTypes(types []Type) []*TypeProblem {
	c := &typeCheck{}
	c.count("", "types", len(types), 0, maxTypes)
	seen := map[string]bool{}
	for i, t := range types {
		path := fmt.Sprintf("[%d]", i)
		c.key(path+".type", string(t.Key), seen)
		c.length(path+".title", t.Title, 1, maxTitle)
		c.count(path+".accepts", "backends", len(t.Accepts), 1, 2)
		for j, b := range t.Accepts {
			switch {
			case b != SheetBackend && b != WarehouseBackend:
				c.add(fmt.Sprintf("%s.accepts[%d]", path, j), "must be one of: sheet, warehouse")
			case slices.Contains(t.Accepts[:j], b):
				c.add(fmt.Sprintf("%s.accepts[%d]", path, j), "is there twice")
			}
		}
		c.count(path+".fields", "fields", len(t.Fields), 1, maxFields)
		keys := map[string]bool{}
		for j, f := range t.Fields {
			c.field(fmt.Sprintf("%s.fields[%d]", path, j), f, keys)
		}
	}
	return c.found
}

type typeCheck struct{ found []*TypeProblem }

func (c *typeCheck) add(key, format string, args ...any) {
	c.found = append(c.found, &TypeProblem{Key: key, Reason: fmt.Sprintf(format, args...)})
}

func (c *typeCheck) key(path, key string, seen map[string]bool) {
	switch {
	case !keyForm.MatchString(key) || len(key) > 63:
		c.add(path, "must be 1 to 63 lower-case letters and digits, with single underscores between them, and begin "+
			"with a letter")
	case seen[key]:
		c.add(path, "is there twice")
	}
	seen[key] = true
}

func (c *typeCheck) length(path, s string, lowest, highest int) {
	if n := utf8.RuneCountInString(s); n < lowest || n > highest || !utf8.ValidString(s) {
		c.add(path, "must have %d to %d characters", lowest, highest)
	}
}

func (c *typeCheck) count(path, noun string, n, lowest, highest int) {
	if n < lowest || n > highest {
		c.add(path, "must be %d to %d %s", lowest, highest, noun)
	}
}

// fieldTypes lists all field types.
var fieldTypes = []column.Type{column.String, column.Text, column.Integer, column.Number, column.Boolean, column.Date,
	column.DateTime, column.URL, column.Email, column.Enum, column.JSON}

// field checks one field of a source type. keys are the keys of the earlier fields.
func (c *typeCheck) field(path string, f column.Field, keys map[string]bool) {
	c.key(path+".key", f.Key, keys)
	c.length(path+".title", f.Title, 1, maxTitle)
	c.length(path+".example", f.Example, 0, maxExample)
	if !slices.Contains(fieldTypes, f.Type) {
		c.add(path+".type",
			"must be one of: string, text, integer, number, boolean, date, datetime, url, email, enum, "+
				"json")
	}
	c.count(path+".synonyms", "synonyms", len(f.Synonyms), 0, maxSynonyms)
	for i, s := range f.Synonyms {
		c.length(fmt.Sprintf("%s.synonyms[%d]", path, i), s, 1, maxTitle)
	}
	if f.Type == column.Enum {
		c.count(path+".enum", "values", len(f.Enum), 1, maxEnum)
	} else if len(f.Enum) > 0 {
		c.add(path+".enum", "is for fields of type enum alone")
	}
	for i, v := range f.Enum {
		c.length(fmt.Sprintf("%s.enum[%d]", path, i), v, 1, maxTitle)
		if slices.Contains(f.Enum[:i], v) {
			c.add(fmt.Sprintf("%s.enum[%d]", path, i), "is there twice")
		}
	}
}
