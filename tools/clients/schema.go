package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schema is a JSON Schema in one of the forms that the contract uses.
type schema struct {
	Ref         string      `json:"$ref"`
	Type        any         `json:"type"` // a name, or a list of names and perhaps null
	Description string      `json:"description"`
	Format      string      `json:"format"`
	Properties  *properties `json:"properties"`
	Required    []string    `json:"required"`
	Items       *schema     `json:"items"`
	Enum        []any       `json:"enum"`
	Const       any         `json:"const"`
	OneOf       []*schema   `json:"oneOf"` // a schema, and null
	AllOf       []*schema   `json:"allOf"` // a component, and an object that extends it
	Additional  additional  `json:"additionalProperties"`
	Minimum     *float64    `json:"minimum"`
	Default     any         `json:"default"`
	Examples    []*value    `json:"examples"`
}

// known are the keywords that the clients understand, or that only limit values, or that are for people.
// A keyword that is not in it fails the generation, so that no client ignores what a new one means.
var known = strings.Fields(`$ref type description format properties required items enum const oneOf allOf
	additionalProperties minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern
	minItems maxItems uniqueItems minProperties maxProperties default title examples deprecated readOnly writeOnly
	contentMediaType contentEncoding`)

// UnmarshalJSON refuses keywords that are not known.
func (s *schema) UnmarshalJSON(text []byte) error {
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(text, &keywords); err != nil {
		return err
	}
	for k := range keywords {
		if !slices.Contains(known, k) && !strings.HasPrefix(k, "x-") {
			return fmt.Errorf("the clients do not support the keyword %s in a schema; see tools/clients/schema.go", k)
		}
	}
	type plain schema
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	if len(s.AllOf) == 1 && s.AllOf[0].Ref != "" { // another notation of a reference with a description
		s.Ref, s.AllOf = s.AllOf[0].Ref, nil
	}
	return nil
}

// additional is whether an object can have any further members, and their schema.
type additional struct {
	any bool
	of  *schema
}

// UnmarshalJSON reads true, false or a schema.
func (a *additional) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.any) == nil {
		return nil
	}
	a.of = new(schema)
	return json.Unmarshal(text, a.of)
}

// properties are the members of an object, in the order of the contract.
type properties struct {
	names  []string
	byName map[string]*schema
}

// UnmarshalJSON keeps the order.
func (p *properties) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &p.byName); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		p.names = append(p.names, fmt.Sprint(name))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// kind is the JSON type of s without null, and whether null is allowed too. It is empty if there are several types.
func (s *schema) kind() (name string, nullable bool) {
	switch t := s.Type.(type) {
	case string:
		return t, t == "null"
	case []any:
		for _, x := range t {
			if x == "null" {
				nullable = true
			} else {
				name = fmt.Sprint(x)
			}
		}
		if len(s.alternatives()) > 0 {
			return "", nullable
		}
	}
	return name, nullable
}

// alternatives returns a schema for each type of s other than null, if there are several.
func (s *schema) alternatives() (all []*schema) {
	list, _ := s.Type.([]any)
	for _, x := range list {
		if x != "null" {
			one := *s
			one.Type = x
			all = append(all, &one)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// orNull returns x if s is x or null.
func (s *schema) orNull() *schema {
	if len(s.OneOf) == 2 && s.OneOf[1].Type == "null" {
		return s.OneOf[0]
	}
	return nil
}

// alternative is a component of a union, and a member that only this component has. One component can have none: a
// response without the members of the others is of that one.
type alternative struct{ component, member string }

// union returns the alternatives of a response that is one of several components, the one without a member last.
func (s *schema) union(components map[string]*schema) (all []alternative) {
	var last []alternative
	for _, x := range s.OneOf {
		c := components[x.component()]
		if x.Ref == "" || c == nil {
			continue
		}
		i := slices.IndexFunc(c.Required, func(name string) bool {
			return !slices.ContainsFunc(s.OneOf, func(other *schema) bool {
				o := components[other.component()]
				return other != x && o != nil && o.Properties != nil && o.Properties.byName[name] != nil
			})
		})
		if i < 0 {
			last = append(last, alternative{x.component(), ""})
		} else {
			all = append(all, alternative{x.component(), c.Required[i]})
		}
	}
	if len(last) > 1 {
		return nil // they cannot be told apart
	}
	return append(all, last...)
}

// component returns the name of the schema that s refers to.
func (s *schema) component() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

// isNullable reports whether null is a value of s.
func (s *schema) isNullable() bool {
	_, nullable := s.kind()
	return nullable || s.orNull() != nil
}

func (s *schema) isObject() bool { return s.Properties != nil && len(s.Properties.names) > 0 }

func (s *schema) requires(name string) bool { return slices.Contains(s.Required, name) }

// check returns an error for a form that the clients have no type for. at says where the schema is.
func (s *schema) check(at string, components map[string]*schema) error {
	wrong := func(reason string) error { return fmt.Errorf("%s: %s; see tools/clients/schema.go", at, reason) }
	kind, _ := s.kind()
	list, isList := s.Type.([]any)
	switch {
	case s.Ref != "":
		if components[s.component()] == nil {
			return wrong("there is no schema " + s.Ref)
		}
		if s.Type != nil || s.Properties != nil || s.OneOf != nil || s.AllOf != nil {
			return wrong("a reference can have only a description beside it")
		}
	case isList && (len(list) < 2 || (kind == "" && s.alternatives() == nil)):
		return wrong("a list of types must have a type and another one, or null")
	case s.OneOf != nil && at == "the response" && len(s.union(components)) == len(s.OneOf):
	case s.OneOf != nil:
		if len(s.OneOf) != 2 || s.OneOf[1].Type != "null" || s.Type != nil || s.Properties != nil {
			return wrong("oneOf must be a schema and null")
		}
	case s.AllOf != nil:
		if len(s.AllOf) != 2 || s.AllOf[0].Ref == "" || s.AllOf[1].Type != "object" || s.Properties != nil {
			return wrong("allOf must be a component and an object")
		}
		if !strings.HasPrefix(at, "components.schemas.") || strings.Count(at, ".") != 2 {
			return wrong("allOf can only be a component")
		}
	case s.isObject() && s.Additional.of != nil:
		return wrong("an object has either members or additional members of one schema")
	case !slices.Contains([]string{"", "string", "integer", "number", "boolean", "array", "object"}, kind):
		return wrong("the type " + kind + " is not supported")
	case kind == "array" && s.Items == nil:
		return wrong("an array needs items")
	case s.Enum != nil && kind != "string":
		return wrong("only strings can have an enum")
	}
	inner := map[string]*schema{}
	if s.Properties != nil {
		for name, p := range s.Properties.byName {
			inner["."+name] = p
		}
	}
	inner["[]"], inner["{}"] = s.Items, s.Additional.of
	for i, x := range slices.Concat(s.OneOf[:min(1, len(s.OneOf))], s.AllOf, s.alternatives()) {
		inner[fmt.Sprintf("(%d)", i)] = x
	}
	for name, x := range inner {
		if x == nil {
			continue
		}
		if err := x.check(at+name, components); err != nil {
			return err
		}
	}
	return nil
}
