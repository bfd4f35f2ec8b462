package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

// bind checks values and stores them in r, with defaults for those that are not given. It makes their
// numbers plain here, once, however often a template uses them. It returns the messages for each
// placeholder.
func (c Content) bind(values map[string]any, r *mustache.Renderer) (inserted map[string][]Message, wrong fault.Fields) {
	types := c.types()
	for name, value := range values {
		// {{user.name}} is a member of user, unless a variable of this whole name is declared.
		isNull := value == nil && types[name] != "" && types[name] != anyType
		if !isNull && (types[name] != "" || !strings.Contains(name, ".")) {
			if hasLongNumber(value) {
				wrong.Add("/variables/"+name, "too_long", numberRule)
			}
			r.Values[name] = mustache.PlainNumbers(value)
		}
	}
	for _, v := range c.variables() {
		pointer := "/variables/" + v.Name
		value, given := r.Values[v.Name]
		if given && value == nil && v.Default != nil {
			given = false
		}
		switch {
		case !given && v.Default != nil:
			if value, err := v.defaultValue(); err == nil {
				r.Values[v.Name] = mustache.PlainNumbers(value)
			}
		case given && !fits(v.Type, value):
			wrong.Add(pointer, "wrong_type", "Must be "+withArticle(v.Type)+".")
		case given && !v.allows(value):
			wrong.Add(pointer, "not_allowed_value", "Must be one of the values that the version allows.")
		}
	}
	inserted = map[string][]Message{}
	for _, m := range c.Messages {
		if list, ok := r.Values[m.Placeholder].([]any); ok && m.Placeholder != "" && inserted[m.Placeholder] == nil {
			inserted[m.Placeholder] = messagesOf(list, "/variables/"+m.Placeholder, &wrong)
		}
	}
	return inserted, wrong
}

// messagesOf reads the messages that a caller inserts for a placeholder.
func messagesOf(list []any, pointer string, wrong *fault.Fields) []Message {
	messages := make([]Message, len(list))
	for i, item := range list {
		pointer := fmt.Sprintf("%s/%d", pointer, i)
		object, ok := item.(map[string]any)
		if !ok {
			wrong.Add(pointer, "wrong_type", "Must be an object with role and content.")
			continue
		}
		messages[i] = messageOf(object, pointer, wrong)
	}
	return messages
}

func messageOf(object map[string]any, pointer string, wrong *fault.Fields) Message {
	var m Message
	known, before := 0, len(*wrong)
	for _, field := range []struct {
		name string
		into *string
	}{{"role", &m.Role}, {"content", &m.Content}} {
		value, given := object[field.name]
		if !given {
			continue
		}
		known++
		text, ok := value.(string)
		if *field.into = text; !ok {
			wrong.Add(pointer+"/"+field.name, "wrong_type", "Must be a string.")
		}
	}
	if len(*wrong) == before {
		m.checkWords(pointer, wrong)
	}
	if len(object) > known {
		wrong.Add(pointer, "unknown_field", "Must have only role and content.")
	}
	return m
}

// missing lists the required variables and placeholders without a value.
func (c Content) missing(values map[string]any) []string {
	var names []string
	for _, v := range c.variables() {
		if _, given := values[v.Name]; v.Required && !given {
			names = append(names, v.Name)
		}
	}
	return names
}

// unused returns the given names that no tag and no placeholder uses.
func (c Content) unused(given, bound map[string]any, parts []part) []string {
	used := mustache.Uses(bodies(parts), given)
	for _, m := range c.Messages {
		used[m.Placeholder] = true
	}
	delete(used, "") // of messages that are not placeholders
	var names []string
	for name, value := range given {
		if _, ok := bound[name]; !used[name] || value != nil && !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
