package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"regexp"
	"strings"
	"time"
)

// goSamples writes calls with the types of the Go client.
type goSamples struct {
	*goWriter
}

// goSample returns the call as a Go programmer writes it: the body as a literal of its type.
func goSample(d *document, c *call) (string, error) {
	w := goSamples{&goWriter{document: d}} // it only names the types
	args := []string{"ctx"}
	for _, p := range c.parts {
		args = append(args, quoted(placeholder(p)))
	}
	if c.body != nil {
		body := "nil"
		if !c.omitsBody() {
			var err error
			if body, err = w.value(c.body, goName(c.resource)+"Service_"+c.method+"_body", c.example); err != nil {
				return "", err
			}
			if !c.bodyRequired {
				body = "&" + body
			}
		}
		args = append(args, body)
	}
	if len(c.query) > 0 {
		var members []string
		for _, p := range c.required() {
			members = append(members, goName(p.Name)+": "+quoted(p.sample()))
		}
		args = append(args, "atrium."+goName(c.resource)+goName(c.method)+"Query{"+strings.Join(members, ", ")+"}")
	}
	made := "client." + goSelector(c.name) + "(" + strings.Join(args, ", ") + ")"
	var text string
	switch {
	case c.event != nil, c.item != nil:
		name := "item"
		if c.event != nil {
			name = "event"
		}
		text = fmt.Sprintf("for %s, err := range %s {\n\tif err != nil {\n\t\treturn err\n\t}\n\tfmt.Println(%s)\n}",
			name, made, name)
	case c.result != nil:
		text = "result, err := " + made
	default:
		text = "err := " + made
	}
	formatted, err := format.Source([]byte(text))
	return string(formatted), err
}

// goSelector returns PromptTemplates.Versions.Activate of promptTemplates.versions.activate.
func goSelector(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = goName(p)
	}
	return strings.Join(parts, ".")
}

// local matches the types of the client in the name of a type.
var local = regexp.MustCompile(`(^|[\]*])([A-Z])`)

// typed returns the name of the type of s as other packages write it.
func (w goSamples) typed(s *schema, hint string) string {
	return local.ReplaceAllString(w.typeOf(s, hint), "${1}atrium.${2}")
}

// value returns v as an expression of the type that s has.
func (w goSamples) value(s *schema, hint string, v *value) (string, error) {
	t := w.typed(s, hint)
	if x := s.orNull(); x != nil {
		s = x
	}
	if s.Ref != "" {
		hint, s = s.component(), w.Components.Schemas[s.component()]
	}
	switch kind, _ := s.kind(); {
	case v.kind == 0:
		return goScalar(t, v.scalar)
	case s.AllOf != nil:
		return "", fmt.Errorf("there are no samples of allOf")
	case v.kind == '[' && kind == "array":
		return w.several(t, v.items, func(_ int, item *value) (string, error) {
			text, err := w.value(s.Items, hint+"_item", item)
			if item.kind == 0 && text != "nil" && strings.HasPrefix(t, "[]*") {
				text = "new(" + text + ")"
			}
			return text, err
		})
	case v.kind == '{' && s.isObject():
		members := make([]*value, len(v.names))
		for i, name := range v.names {
			members[i] = v.members[name]
		}
		return w.several(t, members, func(i int, member *value) (string, error) {
			field, err := w.field(s, hint, v.names[i], member)
			return goName(v.names[i]) + ": " + field, err
		})
	case v.kind == '{' && s.Additional.of != nil:
		return w.entries(t, v, func(member *value) (string, error) {
			return w.value(s.Additional.of, hint+"_value", member)
		})
	}
	return w.untyped(v)
}

// field returns the value of a member of an object, as goWriter.fields declares it.
func (w goSamples) field(owner *schema, hint, name string, v *value) (string, error) {
	p := owner.Properties.byName[name]
	if p == nil {
		return "", fmt.Errorf("the example has the member %s, which is not in the contract", name)
	}
	t := w.typed(p, hint+"_"+name)
	isReference := strings.HasPrefix(t, "[]") || strings.HasPrefix(t, "map[") || t == "any"
	isOpt := !owner.requires(name) && p.isNullable() && w.requests[hint]
	if v.kind == 0 && v.scalar == nil {
		if isOpt {
			return "atrium.Null[" + t + "]()", nil
		}
		return "nil", nil
	}
	text, err := w.value(p, hint+"_"+name, v)
	switch {
	case isOpt:
		return "atrium.Set(" + converted(t, text) + ")", err
	case isReference || (owner.requires(name) && !p.isNullable()):
		return text, err
	case strings.HasPrefix(text, t+"{"):
		return "&" + text, err
	}
	return "new(" + converted(t, text) + ")", err
}

// converted gives a constant the type t, where Go would give it another.
func converted(t, text string) string {
	typed := strings.HasPrefix(text, t+"{") || strings.HasPrefix(text, "time.")
	if typed || t == "string" || t == "int" || t == "bool" {
		return text
	}
	return t + "(" + text + ")"
}

// several writes a composite literal on one line if it fits in half of the width, otherwise an element on each line.
func (w goSamples) several(t string, all []*value, one func(int, *value) (string, error)) (string, error) {
	var parts []string
	length := len(t)
	for i, v := range all {
		text, err := one(i, v)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
		length += len(text) + 2
	}
	if length > columns/2 && len(parts) > 1 {
		return t + "{\n" + strings.Join(parts, ",\n") + ",\n}", nil
	}
	return t + "{" + strings.Join(parts, ", ") + "}", nil
}

func (w goSamples) entries(t string, v *value, one func(*value) (string, error)) (string, error) {
	members := make([]*value, len(v.names))
	for i, name := range v.names {
		members[i] = v.members[name]
	}
	return w.several(t, members, func(i int, member *value) (string, error) {
		text, err := one(member)
		return quoted(v.names[i]) + ": " + text, err
	})
}

// untyped returns a value of the type any.
func (w goSamples) untyped(v *value) (string, error) {
	switch v.kind {
	case '{':
		return w.entries("map[string]any", v, w.untyped)
	case '[':
		return w.several("[]any", v.items, func(_ int, item *value) (string, error) { return w.untyped(item) })
	}
	return goScalar("any", v.scalar)
}

func goScalar(t string, scalar any) (string, error) {
	switch x := scalar.(type) {
	case nil:
		return "nil", nil
	case string:
		if t != "time.Time" {
			return quoted(x), nil
		}
		at, err := time.Parse(time.RFC3339, x)
		at = at.UTC()
		return fmt.Sprintf("time.Date(%d, %d, %d, %d, %d, %d, 0, time.UTC)", at.Year(), at.Month(), at.Day(), at.Hour(),
			at.Minute(), at.Second()), err
	case json.Number:
		return x.String(), nil
	}
	return fmt.Sprint(scalar), nil
}
