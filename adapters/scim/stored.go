package scim

import (
	"strings"

	filter "github.com/scim2/filter-parser/v2"

	"github.com/elimity-com/scim/schema"
)

// attribute is an attribute that Atrium stores. Everything else that a directory sends is ignored without a look at it:
// providers send a manager as a string, an object or a list, and attributes of schemas that no one has declared.
type attribute struct {
	name   string
	isFlag bool // a boolean; otherwise a string, unless it has parts
	isList bool
	parts  []attribute
}

// kind is a kind of resource.
type kind struct {
	schema schema.Schema
	stored []attribute
}

var (
	userKind = kind{storedSchema(schema.CoreUserSchema()), []attribute{
		{name: "userName"}, {name: "externalId"}, {name: "displayName"}, {name: "active", isFlag: true},
		{name: "name", parts: []attribute{{name: "formatted"}, {name: "givenName"}, {name: "familyName"}}},
		{name: "emails", isList: true, parts: []attribute{{name: "value"}, {name: "type"},
			{name: "primary", isFlag: true}}},
	}}
	groupKind = kind{storedSchema(schema.CoreGroupSchema()), []attribute{
		{name: "displayName"}, {name: "externalId"},
		{name: "members", isList: true, parts: []attribute{{name: "value"}}},
	}}
)

// storedSchema returns a schema of the library with the attributes that Atrium stores or returns.
func storedSchema(s schema.Schema) schema.Schema {
	var attributes schema.Attributes
	for _, name := range []string{"userName", "displayName", "name", "emails", "active", "groups", "members"} {
		if a, ok := s.Attributes.ContainsAttribute(name); ok {
			attributes = append(attributes, a)
		}
	}
	s.Attributes = attributes
	return s
}

// find returns the attribute with a name, in any case, among several.
func find(attributes []attribute, name string) (attribute, bool) {
	for _, a := range attributes {
		if strings.EqualFold(a.name, name) {
			return a, true
		}
	}
	return attribute{}, false
}

// target is the stored attribute that a PATCH path leads to.
type target struct {
	attribute        // at the end of the path
	path      string // as the library expects it
}

// target returns the attribute that a path leads to; false if it is not stored. An extension's attribute has its
// schema before its name. The path may be malformed if the attribute is not stored.
func (k kind) target(path string) (t target, ok bool, err error) {
	if uri, rest, hasSchema := cutSchema(path); hasSchema {
		if !strings.EqualFold(uri, k.schema.ID) {
			return t, false, nil
		}
		path = rest
	}
	name := path[:len(path)-len(strings.TrimLeft(path, nameLetters))]
	if name == "" {
		return t, false, errPath
	}
	a, ok := find(k.stored, name)
	if !ok {
		return t, false, nil
	}
	parsed, err := filter.ParsePath([]byte(path))
	if err != nil {
		return t, false, errPath
	}
	sub := parsed.AttributePath.SubAttributeName()
	if sub == "" {
		sub = parsed.SubAttributeName()
	}
	t = target{a, path}
	if sub != "" {
		if t.attribute, ok = find(a.parts, sub); !ok {
			return t, false, nil
		}
	} else if parsed.ValueExpression != nil {
		t.isList = false // one item
	}
	return t, true, nil
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_$"

// cutSchema cuts a path after the schema that it begins with, such as urn:ietf:params:scim:schemas:core:2.0:User.
func cutSchema(path string) (uri, rest string, ok bool) {
	if len(path) < 4 || !strings.EqualFold(path[:4], "urn:") {
		return "", path, false
	}
	end := len(path)
	if bracket := strings.IndexByte(path, '['); bracket >= 0 {
		end = bracket
	}
	colon := strings.LastIndexByte(path[:end], ':')
	return path[:colon], path[colon+1:], true
}
