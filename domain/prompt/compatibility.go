package prompt

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Compatibility determines what an activation may change of the contract between a template and the applications that
// use it: the variables that they send, the tools that they offer, and the format of the answers that they read.
type Compatibility string

// The compatibilities.
const (
	Unchecked Compatibility = "none"     // an activation may change everything
	Backward  Compatibility = "backward" // what was written for the active version also works with the next one
)

// maxBreaks bounds what ErrContractBreak lists.
const maxBreaks = 100

// KeepsContract returns ErrContractBreak with the breaks of from's contract by to, the version that t activated
// instead of it. It returns nil if t is not checked, or from is nil.
func (t *Template) KeepsContract(from, to *Version) error {
	if t.Compatibility != Backward || from == nil || to == nil {
		return nil
	}
	if found := Breaks(from.Content, to.Content); len(found) > 0 {
		return ErrContractBreak.Breaking(found)
	}
	return nil
}

// breaks collects breaks, at most maxBreaks.
type breaks []fault.Break

func (b *breaks) add(member, name, code, detail string) {
	if len(*b) < maxBreaks {
		*b = append(*b, fault.Break{Member: member, Name: shortened(name), Code: code, Detail: detail})
	}
}

// shortened bounds a name within a schema, which can be as long as the schema.
func shortened(name string) string {
	const most = 200 // characters
	if len(name) <= most {
		return name
	}
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// Breaks returns what an application that was written for from could fail at with to, at most 100 breaks: a value that
// it does not send or that is refused, a tool or an answer member that it does not know. Names within a section are not
// compared, because they depend on the values.
func Breaks(from, to Content) []fault.Break {
	var found breaks
	found.variables(from.variables(), to.variables())
	found.tools(toolsOf(from.Tools), toolsOf(to.Tools))
	found.responses(from.ResponseFormat, to.ResponseFormat)
	return found
}

// variables adds the variables that need or accept other values.
func (b *breaks) variables(from, to []Variable) {
	for _, v := range to {
		i := slices.IndexFunc(from, func(w Variable) bool { return w.Name == v.Name })
		isNeeded := v.Required && v.Default == nil
		if i < 0 {
			if isNeeded {
				b.add("variables", v.Name, "variable_required", "Applications do not send this variable yet.")
			}
			continue
		}
		previous := from[i]
		if isNeeded && (!previous.Required || previous.Default != nil) {
			b.add("variables", v.Name, "variable_required", "Was optional, and is required without a default.")
		}
		if v.Type != previous.Type && v.Type != anyType {
			b.add("variables", v.Name, "variable_type_changed", "Values of the earlier type are refused.")
		}
		if len(v.Enum) > 0 && !areAllowed(forms(previous.Enum), forms(v.Enum)) {
			b.add("variables", v.Name, "variable_enum_narrowed", "Values that were allowed are refused.")
		}
	}
}

// tools adds the tools that an application does not know, or that get arguments that it does not.
func (b *breaks) tools(from, to map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if previous, isKnown := from[name]; !isKnown {
			b.add("tools", name, "tool_added", "Applications do not know this tool yet.")
		} else {
			b.schema("tools", name, previous, to[name])
		}
	}
}

// toolsOf returns the schema of each tool's arguments by the tool's name, or by its type if it has no name.
func toolsOf(raw json.RawMessage) map[string]any {
	value, _ := decodeJSON(raw)
	list, _ := value.([]any)
	tools := map[string]any{}
	for _, item := range list {
		tool, _ := item.(map[string]any)
		name, schema := toolOf(tool)
		if name == "" {
			name, _ = tool["type"].(string)
		}
		tools[name] = schema
	}
	return tools
}

// toolOf returns a tool's name, empty if it has none, and the schema of its arguments, as providers write them: in a
// member function or not, as parameters or input_schema.
func toolOf(tool map[string]any) (name string, schema any) {
	if inner, ok := tool["function"].(map[string]any); ok {
		tool = inner
	}
	name, _ = tool["name"].(string)
	return name, firstOf(tool, "parameters", "input_schema")
}

// responses adds how the answers can be others than from describes.
func (b *breaks) responses(from, to json.RawMessage) {
	const changed = "Applications expect answers in another format."
	oldFormat, schemaBefore := responseOf(from)
	newFormat, schemaAfter := responseOf(to)
	switch {
	case oldFormat == newFormat:
		b.schema("response_format", "", schemaBefore, schemaAfter)
	case oldFormat != "json_object" || newFormat != "json_schema": // a schema is an object, too
		b.add("response_format", "", "response_format_changed", changed)
	}
}

// responseOf returns a response format's type as OpenAI writes it, and its schema, if any. An object without such a
// type is a schema.
func responseOf(raw json.RawMessage) (kind string, schema any) {
	value, _ := decodeJSON(raw)
	format, ok := value.(map[string]any)
	if !ok {
		return "text", nil
	}
	switch kind, _ := format["type"].(string); kind {
	case "text", "json_object":
		return kind, nil
	case "json_schema":
		if inner, ok := format["json_schema"].(map[string]any); ok {
			format = inner
		}
		return kind, format["schema"]
	}
	return "json_schema", format
}

func firstOf(object map[string]any, names ...string) any {
	for _, name := range names {
		if value, ok := object[name]; ok {
			return value
		}
	}
	return nil
}
