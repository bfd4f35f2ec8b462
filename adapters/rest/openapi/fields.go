package openapi

import (
	"cmp"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/atrium-hq/atrium/domain/fault"
)

// fields words what a schema finds wrong, in our own words: those of the validator quote what was
// submitted.
type fields struct{ list []fault.Field }

func (f *fields) add(e *jsonschema.ValidationError) {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			f.add(cause)
		}
	case *kind.OneOf: // something or null: what is wrong with the something
		for _, cause := range e.Causes {
			if t, ok := cause.ErrorKind.(*kind.Type); !ok || !slices.Equal(t.Want, []string{"null"}) {
				f.add(cause)
			}
		}
	case *kind.Required:
		for _, name := range k.Missing {
			f.note(child(at, name), "required", "Must be given.")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			f.note(child(at, name), "unknown_field", "There is no such field here.")
		}
	case *kind.UniqueItems:
		f.note(child(at, strconv.Itoa(k.Duplicates[1])), "duplicate_item", "Is in the list already.")
	case *kind.Type:
		f.note(at, "wrong_type", "Must be "+typeNames(k.Want)+".")
	case *kind.Format:
		if k.Want == "int64" {
			f.note(at, "wrong_type", "Must be a whole number, written without a fraction or an exponent.")
			return
		}
		f.note(at, "invalid_format", "Must be a valid "+k.Want+".")
	case *kind.Enum:
		f.note(at, "not_allowed_value", "Must be one of: "+join(k.Want, ", ")+".")
	case *kind.MinLength:
		f.note(at, "too_short", fmt.Sprintf("Must have at least %s.", count(k.Want, "character")))
	case *kind.MaxLength:
		f.note(at, "too_long", fmt.Sprintf("Must have at most %s.", count(k.Want, "character")))
	case *kind.MinItems:
		f.note(at, "too_few_items", fmt.Sprintf("Must have at least %s.", count(k.Want, "item")))
	case *kind.MaxItems:
		f.note(at, "too_many_items", fmt.Sprintf("Must have at most %s.", count(k.Want, "item")))
	case *kind.MaxProperties:
		f.note(at, "too_many_items", fmt.Sprintf("Must have at most %s.", count(k.Want, "member")))
	case *kind.Minimum:
		f.note(at, "out_of_range", "Must be at least "+number(k.Want)+".")
	case *kind.Maximum:
		f.note(at, "out_of_range", "Must be at most "+number(k.Want)+".")
	case *kind.Pattern:
		f.note(at, "invalid_pattern", "Must match the pattern "+k.Want+".")
	default: // no other keyword is in a request's schema: a test holds openapi.yaml to it
		f.note(at, "not_allowed_value", "Is not allowed here.")
	}
}

func (f *fields) note(at []string, code, detail string) {
	f.list = append(f.list, fault.Field{Pointer: pointer(slices.Values(at)), Code: code, Detail: detail})
}

// sorted returns what was noted in an order that does not change from call to call, and one entry
// alone for a pointer and code: a number too large for the reader is too large for the schema too.
func (f *fields) sorted() []fault.Field {
	slices.SortStableFunc(f.list, func(a, b fault.Field) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code))
	})
	f.list = slices.CompactFunc(f.list, func(a, b fault.Field) bool { return a.Pointer == b.Pointer && a.Code == b.Code })
	return f.list[:min(len(f.list), maxFields)]
}

// pointer writes a JSON Pointer (RFC 6901) with its tokens capped.
func pointer(tokens iter.Seq[string]) string {
	var b strings.Builder
	for token := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerToken(capped(token)))
	}
	return b.String()
}

func child(at []string, name string) []string { return append(slices.Clone(at), name) }

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

func typeNames(types []string) string {
	names := make([]any, len(types))
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
	return join(names, " or ")
}

func join(values []any, separator string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, separator)
}
