package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

const nameRule = "Must begin with a letter or _, and have at most 64 letters, digits, _, dots and hyphens."

// check adds the errors in a declaration, which is at pointer.
func (v Variable) check(pointer string, errs *fault.Fields) {
	if !isVariableName(v.Name) {
		errs.Add(pointer+"/name", "invalid_format", nameRule)
	}
	errs.AddCharacters(pointer+"/description", v.Description)
	if !slices.Contains(variableTypes, v.Type) {
		errs.Add(pointer+"/type", "not_allowed_value", "Must be any, string, number, boolean, array or object.")
		return
	}
	if v.Enum != nil && len(v.Enum) == 0 {
		errs.Add(pointer+"/enum", "too_few_items", "Must have at least one item.")
	}
	seen := map[string]bool{}
	for i, value := range v.Enum {
		form, err := canonical(value)
		if hasLongNumber(value) {
			errs.Add(fmt.Sprintf("%s/enum/%d", pointer, i), "too_long", numberRule)
		} else if err != nil || !fits(v.Type, value) {
			errs.Add(fmt.Sprintf("%s/enum/%d", pointer, i), "wrong_type", "Must be "+withArticle(v.Type)+
				", as the variable is.")
		} else if seen[form] {
			errs.Add(fmt.Sprintf("%s/enum/%d", pointer, i), "duplicate_item", "Must not be listed twice.")
		}
		seen[form] = true
	}
	if value, err := v.defaultValue(); hasLongNumber(value) {
		errs.Add(pointer+"/default", "too_long", numberRule)
	} else if err != nil || (v.Default != nil && !fits(v.Type, value)) {
		errs.Add(pointer+"/default", "wrong_type", "Must be "+withArticle(v.Type)+", as the variable is.")
	} else if v.Default != nil && !v.allows(value) {
		errs.Add(pointer+"/default", "not_allowed_value", "Must be one of enum.")
	}
}

// checkPlaceholder adds the errors in a placeholder variable's declaration.
func (v Variable) checkPlaceholder(pointer string, errs *fault.Fields) {
	if v.Type != "array" {
		errs.Add(pointer+"/type", "not_allowed_value", "Must be array: a placeholder has this name.")
	}
	if value, err := v.defaultValue(); err == nil {
		if list, ok := value.([]any); ok {
			checkInserted(list, pointer+"/default", errs)
		}
	}
}

// defaultValue returns the decoded default, or nil.
func (v Variable) defaultValue() (any, error) {
	if v.Default == nil {
		return nil, nil
	}
	return decodeJSON(v.Default)
}

// allows reports whether enum is empty or contains value. Numbers are equal whatever their notation.
func (v Variable) allows(value any) bool {
	if len(v.Enum) == 0 {
		return true
	}
	form, err := canonical(value)
	if err != nil {
		return false
	}
	for _, value := range v.Enum {
		if a, err := canonical(value); err == nil && a == form {
			return true
		}
	}
	return false
}

// fits reports whether value, as decoded from JSON with or without json.Number, is of a variable's
// type.
func fits(variableType string, value any) bool {
	if variableType == anyType {
		return true
	}
	switch value.(type) {
	case string:
		return variableType == "string"
	case float64, json.Number:
		return variableType == "number"
	case bool:
		return variableType == "boolean"
	case []any:
		return variableType == "array"
	case map[string]any:
		return variableType == "object"
	}
	return false
}

// withArticle returns a type's name with its article.
func withArticle(variableType string) string {
	if strings.ContainsAny(variableType[:1], "aeo") {
		return "an " + variableType
	}
	return "a " + variableType
}

// part is one content text, parsed.
type part struct {
	pointer string
	body    mustache.Text
}

func bodies(parts []part) []mustache.Text {
	texts := make([]mustache.Text, len(parts))
	for i, p := range parts {
		texts[i] = p.body
	}
	return texts
}

// parse parses all texts of c, in the order of its slots. It returns ErrUnsupportedSyntax with the first error in each
// text.
func (c Content) parse() ([]part, error) {
	var parts []part
	for _, s := range c.slots() {
		parts = append(parts, part{s.pointer, mustache.Text{Text: *s.text}})
	}
	var errs fault.Fields
	for i, p := range parts {
		if c.Format == Verbatim {
			parts[i].body.Nodes = []mustache.Node{{Kind: mustache.Literal, End: len(p.body.Text)}}
			continue
		}
		nodes, err := mustache.Parse(p.body.Text, checkInclude)
		if err != nil {
			errs.Add(p.pointer, "unsupported_syntax", err.Error())
		}
		parts[i].body.Nodes = nodes
	}
	if len(errs) > 0 {
		return nil, ErrUnsupportedSyntax.WithFields(errs...)
	}
	return parts, nil
}

// variables returns the declared variables of c, and the variables of its placeholders: arrays that need no
// declaration, and are required if either the declaration or the placeholder requires it.
func (c Content) variables() []Variable {
	all := slices.Clone(c.Variables)
	for _, m := range c.Messages {
		if m.Placeholder == "" {
			continue
		}
		i := slices.IndexFunc(all, func(v Variable) bool { return v.Name == m.Placeholder })
		if i < 0 {
			i = len(all)
			all = append(all, Variable{Name: m.Placeholder, Type: "array"})
		}
		all[i].Required = all[i].Required || m.Required
	}
	return all
}

// types returns the type of each of c's variables.
func (c Content) types() map[string]string {
	types := map[string]string{}
	for _, v := range c.variables() {
		types[v.Name] = v.Type
	}
	return types
}

// undeclared returns ErrUndeclaredVariable with the first use of each variable that is used and not
// declared. In a section over an array or an object, a name can be a member of the items, and in one over
// a variable of type any it belongs to the section's context, so it is not refused there.
func (c Content) undeclared(parts []part) error {
	types, names := c.types(), map[string]bool{}
	var errs fault.Fields
	var visit func(p part, nodes []mustache.Node, members bool)
	visit = func(p part, nodes []mustache.Node, members bool) {
		for _, n := range nodes {
			if n.Kind == mustache.Literal || n.Kind == mustache.Partial {
				continue
			}
			if n.Name == "." { // an item, about which nothing is known
				visit(p, n.Nodes, true)
				continue
			}
			variable := ""
			for prefix := range mustache.Prefixes(n.Name) {
				if types[prefix] != "" {
					variable = prefix
					break
				}
			}
			if root := mustache.Root(n.Name); variable == "" && !members && !names[root] {
				names[root] = true
				errs.Add(p.pointer, "undeclared_variable", fmt.Sprintf("Line %d uses %s, which is not declared.",
					n.Line, root))
			}
			isMember := members || types[variable] == anyType
			if n.Kind == mustache.Section {
				isMember = isMember || variable != n.Name || types[variable] == "array" || types[variable] == "object"
			}
			visit(p, n.Nodes, isMember)
		}
	}
	for _, p := range parts {
		visit(p, p.body.Nodes, false)
	}
	if len(errs) > 0 {
		return ErrUndeclaredVariable.WithFields(errs...)
	}
	return nil
}
