package prompt

import (
	"encoding/json"
	"fmt"

	"github.com/atrium-hq/atrium/domain/fault"
)

// checkTools adds what is wrong with tools in every provider's format.
func checkTools(raw json.RawMessage, errs *fault.Fields) {
	value, err := decodeJSON(raw)
	list, isList := value.([]any)
	if err != nil || !isList {
		errs.Add("/tools", "wrong_type", "Must be an array.")
		return
	}
	names := map[string]bool{}
	for i, item := range list {
		pointer := fmt.Sprintf("/tools/%d", i)
		tool, isObject := item.(map[string]any)
		name, schema := toolOf(tool)
		switch {
		case !isObject:
			errs.Add(pointer, "wrong_type", "Must be an object.")
		case len(tool) == 0:
			errs.Add(pointer, "too_few_items", "Must describe a tool.")
		case name != "" && names[name]:
			errs.Add(pointer, "duplicate_item", "Another tool has this name.")
		case !isSchema(schema):
			errs.Add(pointer, "wrong_type", "The schema of its arguments must be an object, and so its properties.")
		}
		names[name] = true
	}
}

// checkResponseFormat adds what is wrong with a response format in every provider's format.
func checkResponseFormat(raw json.RawMessage, errs *fault.Fields) {
	value, err := decodeJSON(raw)
	format, isObject := value.(map[string]any)
	_, schema := responseOf(raw)
	switch {
	case err != nil || !isObject:
		errs.Add("/response_format", "wrong_type", "Must be an object.")
	case len(format) == 0:
		errs.Add("/response_format", "too_few_items", "Must describe a format.")
	case !isSchema(schema):
		errs.Add("/response_format", "wrong_type", "Its schema must be an object, and so its properties.")
	}
}

// isSchema reports whether a value can be a JSON Schema. Absence is one, and so is true.
func isSchema(value any) bool {
	switch value := value.(type) {
	case nil, bool:
		return true
	case map[string]any:
		properties, isGiven := value["properties"]
		_, isObject := properties.(map[string]any)
		return !isGiven || isObject
	}
	return false
}
