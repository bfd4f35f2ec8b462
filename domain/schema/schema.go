// Package schema describes the errors that a JSON Schema finds in a value. It has its own texts,
// because the validator's messages quote the submitted value, which may be a secret in the wrong place.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/atrium-hq/atrium/domain/fault"
)

// maxName is a submitted name's maximum number of characters that are repeated.
const maxName = 64

// Wrong returns all errors in a value, which is at pointer, by pointer and code.
func Wrong(pointer string, e *jsonschema.ValidationError) []fault.Field {
	c := complaints{pointer: pointer}
	c.add(e)
	return Sorted(c.fields)
}

// Sorted returns fields in a stable order, with one entry per pointer and code.
func Sorted(fields []fault.Field) []fault.Field {
	slices.SortStableFunc(fields, func(a, b fault.Field) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code))
	})
	return slices.CompactFunc(fields, func(a, b fault.Field) bool { return a.Pointer == b.Pointer && a.Code == b.Code })
}

// Pointer returns a JSON Pointer (RFC 6901). Tokens may be submitted names, so each is cut at 64
// characters.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + Token(Capped(token)))
	}
	return b.String()
}

// Token escapes one JSON Pointer token.
func Token(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// Capped returns a submitted name in a form that may be repeated: valid UTF-8, cut after 64 characters.
func Capped(name string) string {
	name = strings.ToValidUTF8(name, "")
	n := 0
	for i := range name {
		if n++; n > maxName {
			return name[:i] + "…"
		}
	}
	return name
}

// formats describes the formats of values that people enter.
var formats = map[string]string{
	"date":      "a date such as 2026-01-31",
	"date-time": "a date and time such as 2026-01-31T12:00:00Z (RFC 3339)",
	"email":     "an e-mail address such as ann@example.com",
	"uri":       "an absolute URL such as https://example.com/path",
}

type complaints struct {
	pointer string
	fields  []fault.Field
}

func (c *complaints) note(path []string, code, detail string) {
	c.fields = append(c.fields, fault.Field{Pointer: c.pointer + Pointer(path...), Code: code, Detail: detail})
}

// add notes a validation error, or its causes if these say more.
func (c *complaints) add(e *jsonschema.ValidationError) {
	path := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		c.addAll(e.Causes)
	case *kind.OneOf, *kind.AnyOf:
		something := slices.DeleteFunc(slices.Clone(e.Causes), isNull)
		if len(something) == len(e.Causes) {
			c.note(path, "not_allowed_value", "Is none of what is allowed here.")
			return
		}
		c.addAll(something) // a value or null: report the errors of the value
	case *kind.Required:
		for _, name := range k.Missing {
			c.note(child(path, name), "required", "Must be given.")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			c.note(child(path, name), "unknown_field", "There is no such field here.")
		}
	case *kind.UniqueItems:
		c.note(child(path, strconv.Itoa(k.Duplicates[1])), "duplicate_item", "Is in the list already.")
	case *kind.Type:
		c.note(path, "wrong_type", "Must be "+typeNames(k.Want)+".")
	case *kind.Format:
		if k.Want == "int64" {
			c.note(path, "wrong_type", "Must be a whole number, written without a fraction or an exponent.")
			return
		}
		c.note(path, "invalid_format", "Must be "+cmp.Or(formats[k.Want], "a valid "+k.Want)+".")
	case *kind.Enum:
		c.note(path, "not_allowed_value", "Must be one of: "+listed(k.Want)+".")
	case *kind.Const:
		c.note(path, "not_allowed_value", "Must be "+listed([]any{k.Want})+".")
	case *kind.Pattern:
		c.note(path, "invalid_pattern", "Must match the pattern "+k.Want+".")
	default:
		if !c.addBound(path, e.ErrorKind) {
			c.note(path, "not_allowed_value", "Is not allowed here.")
		}
	}
}

// addBound adds an error for a value below or above a bound.
func (c *complaints) addBound(path []string, bound jsonschema.ErrorKind) bool {
	switch k := bound.(type) {
	case *kind.MinLength:
		c.note(path, "too_short", "Must have at least "+count(k.Want, "character")+".")
	case *kind.MaxLength:
		c.note(path, "too_long", "Must have at most "+count(k.Want, "character")+".")
	case *kind.MinItems:
		c.note(path, "too_few_items", "Must have at least "+count(k.Want, "item")+".")
	case *kind.MaxItems:
		c.note(path, "too_many_items", "Must have at most "+count(k.Want, "item")+".")
	case *kind.MinProperties:
		c.note(path, "too_few_items", "Must have at least "+count(k.Want, "member")+".")
	case *kind.MaxProperties:
		c.note(path, "too_many_items", "Must have at most "+count(k.Want, "member")+".")
	case *kind.Minimum:
		c.note(path, "out_of_range", "Must be at least "+number(k.Want)+".")
	case *kind.Maximum:
		c.note(path, "out_of_range", "Must be at most "+number(k.Want)+".")
	case *kind.ExclusiveMinimum:
		c.note(path, "out_of_range", "Must be above "+number(k.Want)+".")
	case *kind.ExclusiveMaximum:
		c.note(path, "out_of_range", "Must be below "+number(k.Want)+".")
	default:
		return false
	}
	return true
}

func (c *complaints) addAll(causes []*jsonschema.ValidationError) {
	for _, cause := range causes {
		c.add(cause)
	}
}

// isNull reports whether a value fails because it is not null.
func isNull(e *jsonschema.ValidationError) bool {
	t, ok := e.ErrorKind.(*kind.Type)
	return ok && slices.Equal(t.Want, []string{"null"})
}

func child(path []string, name string) []string { return append(slices.Clone(path), name) }

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// typeNames names JSON types for a sentence: "a string or null".
func typeNames(types []string) string {
	names := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "boolean":
			names[i] = "true or false"
		case "null":
			names[i] = "null"
		case "integer":
			names[i] = "a whole number"
		case "array", "object":
			names[i] = "an " + t
		default:
			names[i] = "a " + t
		}
	}
	return strings.Join(names, " or ")
}

// listed returns an enum's values: words as they are, anything else as JSON.
func listed(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
		if b, err := json.Marshal(v); err == nil {
			texts[i] = strings.Trim(string(b), `"`)
		}
	}
	return strings.Join(texts, ", ")
}
