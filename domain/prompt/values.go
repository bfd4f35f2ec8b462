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
func (c Content) bind(values map[string]any, r *mustache.Renderer) (messages map[string][]Message, errs fault.Fields) {
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
				r.Values[v.Name] = mustache.PlainNumbers(value)
			}
		case isSet && !fits(v.Type, value):
			errs.Add(pointer, "wrong_type", "Must be "+withArticle(v.Type)+".")
		case isSet && !v.allows(value):
			errs.Add(pointer, "not_allowed_value", "Must be one of the values that the version allows.")
		}
	}
	messages = map[string][]Message{}
	for _, m := range c.Messages {
		if list, ok := r.Values[m.Placeholder].([]any); ok && m.Placeholder != "" && messages[m.Placeholder] == nil {
			messages[m.Placeholder] = messagesOf(list, "/variables/"+m.Placeholder, &errs)
		}
	}
	return messages, errs
}

// messagesOf reads the messages that a caller inserts for a placeholder.
func messagesOf(list []any, pointer string, errs *fault.Fields) []Message {
	messages := make([]Message, len(list))
	for i, item := range list {
		pointer := fmt.Sprintf("%s/%d", pointer, i)
		object, ok := item.(map[string]any)
		if !ok {
			errs.Add(pointer, "wrong_type", "Must be an object with role and content.")
			continue
		}
		messages[i] = messageOf(object, pointer, errs)
	}
	return messages
}

// messageOf reads a message from a placeholder's value, and adds its errors below pointer.
func messageOf(object map[string]any, pointer string, errs *fault.Fields) Message {
	var m Message
	count, errCount := 0, len(*errs)
	for _, field := range []struct {
		name string
		into *string
	}{{"role", &m.Role}, {"content", &m.Content}} {
		value, isSet := object[field.name]
		if !isSet {
			continue
		}
		count++
		text, ok := value.(string)
		if *field.into = text; !ok {
			errs.Add(pointer+"/"+field.name, "wrong_type", "Must be a string.")
		}
	}
	if len(*errs) == errCount {
		m.checkWords(pointer, errs)
	}
	if len(object) > count {
		errs.Add(pointer, "unknown_field", "Must have only role and content.")
	}
	return m
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
