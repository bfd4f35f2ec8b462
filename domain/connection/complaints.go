package connection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/atrium-hq/atrium/domain/fault"
)

// maxName is how much of a name that a caller made up is repeated, in characters.
const maxName = 64

// complaints words what a schema finds wrong. The validator's own words quote what was submitted,
// and of what holds no secret we do not know that a secret was not put there by mistake.
func complaints(e *jsonschema.ValidationError) []fault.Field {
	var list []fault.Field
	note := func(at []string, code, detail string) {
		list = append(list, fault.Field{Pointer: pointer(at), Code: code, Detail: detail})
	}
	var add func(e *jsonschema.ValidationError)
	add = func(e *jsonschema.ValidationError) {
		at := e.InstanceLocation
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				note(append(slices.Clone(at), name), "required", "Must be given.")
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				note(append(slices.Clone(at), name), "unknown_field", "There is no such field here.")
			}
		case *kind.Type:
			note(at, "wrong_type", "Must be of type "+strings.Join(k.Want, " or ")+".")
		case *kind.Enum:
			note(at, "not_allowed_value", fmt.Sprintf("Must be one of: %s.", strings.Trim(fmt.Sprint(k.Want), "[]")))
		case *kind.MinLength:
			note(at, "too_short", fmt.Sprintf("Must have at least %d characters.", k.Want))
		case *kind.MaxLength:
			note(at, "too_long", fmt.Sprintf("Must have at most %d characters.", k.Want))
		case *kind.Minimum:
			note(at, "out_of_range", "Must be at least "+k.Want.RatString()+".")
		case *kind.Maximum:
			note(at, "out_of_range", "Must be at most "+k.Want.RatString()+".")
		case *kind.Pattern:
			note(at, "invalid_pattern", "Must match the pattern "+k.Want+".")
		case *kind.Format:
			note(at, "invalid_format", "Must be a valid "+k.Want+".")
		default:
			if len(e.Causes) == 0 {
				note(at, "not_allowed_value", "Is not allowed here.")
			}
			for _, cause := range e.Causes {
				add(cause)
			}
		}
	}
	add(e)
	slices.SortFunc(list, func(a, b fault.Field) int {
		return strings.Compare(a.Pointer+" "+a.Code, b.Pointer+" "+b.Code)
	})
	return slices.Compact(list)
}

// pointer writes a JSON Pointer (RFC 6901) below /credential.
func pointer(tokens []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	at := "/credential"
	for _, token := range tokens {
		if r := []rune(token); len(r) > maxName {
			token = string(r[:maxName])
		}
		at += "/" + escape.Replace(token)
	}
	return at
}
