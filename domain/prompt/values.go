package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

// bind checks values and stores them in r, with defaults for those that are not given. It makes their
// numbers plain here, once, however often a template uses them. It returns the JSON of the messages for each
// placeholder, from sources: the values as they were given, to which it adds defaults.
func (c Content) bind(values, sources map[string]any, r *mustache.Renderer) (messages map[string][]json.RawMessage,
	errs fault.Fields, err error) {
	types := c.types()
	for name, value := range values {
		// {{user.name}} is a member of user, unless a variable of this whole name is declared.
		isNull := value == nil && types[name] != "" && types[name] != anyType
		if !isNull && (types[name] != "" || !strings.Contains(name, ".")) {
			if hasLongNumber(value) {
				errs.Add("/variables/"+name, "too_long", numberRule)
			}
			r.Values[name] = mustache.PlainNumbers(value)
		}
	}
	for _, v := range c.variables() {
		pointer := "/variables/" + v.Name
		value, isSet := r.Values[v.Name]
		if isSet && value == nil && v.Default != nil {
			isSet = false
		}
		switch {
		case !isSet && v.Default != nil:
			if value, err := v.defaultValue(); err == nil {
				r.Values[v.Name], sources[v.Name] = mustache.PlainNumbers(value), v.Default
			}
		case isSet && !fits(v.Type, value):
			errs.Add(pointer, "wrong_type", "Must be "+withArticle(v.Type)+".")
		case isSet && !v.allows(value):
			errs.Add(pointer, "not_allowed_value", "Must be one of the values that the version allows.")
		}
	}
	messages = map[string][]json.RawMessage{}
	for _, m := range c.Messages {
		if list, ok := r.Values[m.Placeholder].([]any); ok && m.Placeholder != "" && messages[m.Placeholder] == nil {
			checkInserted(list, "/variables/"+m.Placeholder, &errs)
			if messages[m.Placeholder], err = itemsOf(sources[m.Placeholder]); err != nil {
				return nil, nil, err
			}
		}
	}
	return messages, errs, nil
}

// decoded returns a copy of values in which those are decoded that are JSON.
func decoded(values map[string]any) (map[string]any, error) {
	plain := make(map[string]any, len(values))
	for name, value := range values {
		if text, ok := value.(json.RawMessage); ok {
			var err error
			if value, err = decodeJSON(text); err != nil {
				return nil, fmt.Errorf("prompt: the value of a variable: %w", err)
			}
		}
		plain[name] = value
	}
	return plain, nil
}

// itemsOf returns the JSON of each item of a list. In a list that is JSON, the order of members and the spelling of
// numbers stay.
func itemsOf(list any) (items []json.RawMessage, err error) {
	text, ok := list.(json.RawMessage)
	if !ok {
		encoded, err := mustache.Encode(list)
		if err != nil {
			return nil, fmt.Errorf("prompt: the value of a placeholder: %w", err)
		}
		text = json.RawMessage(encoded)
	}
	return items, json.Unmarshal(text, &items)
}

// checkInserted adds the errors in a placeholder's value, which is at pointer. What else a message has is between the
// application and its model.
func checkInserted(list []any, pointer string, errs *fault.Fields) {
	for i, item := range list {
		pointer := fmt.Sprintf("%s/%d", pointer, i)
		object, ok := item.(map[string]any)
		if !ok {
			errs.Add(pointer, "wrong_type", "Must be an object: a message.")
			continue
		}
		if role, isSet := object["role"]; isSet && !fits("string", role) {
			errs.Add(pointer+"/role", "wrong_type", "Must be a string.")
		}
	}
}

// missing lists the required variables and placeholders without a value.
func (c Content) missing(values map[string]any) []string {
	var names []string
	for _, v := range c.variables() {
		if _, isSet := values[v.Name]; v.Required && !isSet {
			names = append(names, v.Name)
		}
	}
	return names
}

// unused returns the given names that no tag and no placeholder uses.
func (c Content) unused(values, bound map[string]any, parts []part) []string {
	uses := mustache.Uses(bodies(parts), values)
	for _, m := range c.Messages {
		uses[m.Placeholder] = true
	}
	delete(uses, "") // of messages that are not placeholders
	var names []string
	for name, value := range values {
		if _, ok := bound[name]; !uses[name] || (value != nil && !ok) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
