package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checkConfig notes where a configuration, which stands at pointer, breaks the item's schema.
func (i *Item) checkConfig(pointer string, config json.RawMessage, wrong *fields) {
	if i.schema == nil {
		return
	}
	if config == nil {
		config = json.RawMessage("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		wrong.add(pointer, ErrInvalidConfig.Code, "Must be JSON.")
		return
	}
	if broken, ok := errors.AsType[*jsonschema.ValidationError](i.schema.Validate(value)); ok {
		wrong.addBroken(pointer, broken)
	}
}

// addBroken words what a schema finds wrong. The validator's own words quote what was submitted,
// so that only what the schema demands is told.
func (f *fields) addBroken(pointer string, e *jsonschema.ValidationError) {
	at := pointer
	for _, token := range e.InstanceLocation {
		at += "/" + pointerToken(token)
	}
	note := func(detail string) { f.add(at, ErrInvalidConfig.Code, detail) }
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			f.addBroken(pointer, cause)
		}
	case *kind.Required:
		for _, name := range k.Missing {
			f.add(at+"/"+pointerToken(name), ErrInvalidConfig.Code, "Must be given.")
		}
	case *kind.AdditionalProperties:
		note("Has fields that the schema does not know.")
	case *kind.Type:
		note("Must be of type " + strings.Join(k.Want, " or ") + ".")
	case *kind.Enum:
		note("Must be one of: " + listed(k.Want) + ".")
	case *kind.Const:
		note("Must be " + listed([]any{k.Want}) + ".")
	case *kind.Format:
		note("Must be a valid " + k.Want + ".")
	case *kind.MinLength:
		note(fmt.Sprintf("Must have at least %d characters.", k.Want))
	case *kind.MaxLength:
		note(fmt.Sprintf("Must have at most %d characters.", k.Want))
	case *kind.MinItems:
		note(fmt.Sprintf("Must have at least %d items.", k.Want))
	case *kind.MaxItems:
		note(fmt.Sprintf("Must have at most %d items.", k.Want))
	case *kind.UniqueItems:
		note("Must not hold the same item twice.")
	case *kind.Minimum:
		note("Must be at least " + k.Want.RatString() + ".")
	case *kind.Maximum:
		note("Must be at most " + k.Want.RatString() + ".")
	case *kind.ExclusiveMinimum:
		note("Must be above " + k.Want.RatString() + ".")
	case *kind.ExclusiveMaximum:
		note("Must be below " + k.Want.RatString() + ".")
	case *kind.Pattern:
		note("Must match the pattern " + strconv.Quote(k.Want) + ".")
	default:
		note("Does not fit the schema.")
	}
}

// listed writes values of a schema as JSON.
func listed(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?")
		}
		texts[i] = string(b)
	}
	return strings.Join(texts, ", ")
}

// pointerToken escapes a name for a JSON Pointer, and caps it: names are submitted too.
func pointerToken(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most]
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(strings.ToValidUTF8(name, ""))
}
