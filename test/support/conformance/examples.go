package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// BrokenExamples returns the examples and defaults of an OpenAPI document that do not match their schemas, each with
// its JSON pointer and the reason. Times in responses must be in UTC with milliseconds. It does not look at extensions.
func BrokenExamples(document []byte) ([]string, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	c := &exampleCheck{document: root}
	if c.sent, err = answeredSchemas(root); err != nil {
		return nil, err
	}
	if c.received, err = newSchemas(root); err != nil {
		return nil, err
	}
	c.walk(root, "")
	slices.Sort(c.broken)
	return c.broken, nil
}

type exampleCheck struct {
	document any
	sent     *schemas // in responses
	received *schemas // in parameters and bodies of requests and webhooks
	broken   []string
}

// walk checks what is below a node that is not a schema.
func (c *exampleCheck) walk(node any, path string) {
	members, _ := node.(map[string]any)
	if members["schema"] != nil {
		for name, value := range c.examples(members) {
			c.check(path+"/schema", path+name, value)
		}
	}
	for name, member := range members {
		rest := path + "/" + escape(name)
		switch {
		case name == "schema":
			c.walkSchema(member, rest)
		case name == "schemas":
			for schema, value := range member.(map[string]any) {
				c.walkSchema(value, rest+"/"+escape(schema))
			}
		case name == "parameters":
			list, _ := member.([]any)
			for i, parameter := range list {
				c.walk(parameter, fmt.Sprint(rest, "/", i))
			}
			c.walk(member, rest)
		case name != "example" && name != "examples" && !strings.HasPrefix(name, "x-"):
			c.walk(member, rest)
		}
	}
}

// examples returns the examples of a parameter or a media type by their pointers in it. The value of one that is a
// reference to nothing is nil.
func (c *exampleCheck) examples(owners map[string]any) map[string]any {
	out := map[string]any{}
	if value, ok := owners["example"]; ok {
		out["/example"] = value
	}
	namedValues, _ := owners["examples"].(map[string]any)
	for name, example := range namedValues {
		o, _ := example.(map[string]any)
		if ref, ok := o["$ref"].(string); ok {
			o, _ = c.find(strings.TrimPrefix(ref, "#")).(map[string]any)
		}
		out["/examples/"+escape(name)] = o["value"]
	}
	return out
}

// find follows a JSON pointer through members of objects; nil if it leads nowhere.
func (c *exampleCheck) find(pointer string) any {
	node := c.document
	for _, token := range strings.Split(pointer, "/")[1:] {
		members, _ := node.(map[string]any)
		node = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return node
}

// walkSchema checks the examples and the default of a schema, and of the schemas in it.
func (c *exampleCheck) walkSchema(node any, path string) {
	members, _ := node.(map[string]any)
	for _, name := range []string{"example", "default"} {
		if value, ok := members[name]; ok {
			c.check(path, path+"/"+name, value)
		}
	}
	list, _ := members["examples"].([]any)
	for i, value := range list {
		c.check(path, fmt.Sprint(path, "/examples/", i), value)
	}
	for name, member := range members {
		switch name {
		case "properties", "patternProperties", "$defs":
			for key, schema := range member.(map[string]any) {
				c.walkSchema(schema, path+"/"+name+"/"+escape(key))
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for i, schema := range member.([]any) {
				c.walkSchema(schema, fmt.Sprint(path, "/", name, "/", i))
			}
		case "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains":
			c.walkSchema(member, path+"/"+name)
		}
	}
}

func (c *exampleCheck) check(schemaAt, path string, value any) {
	all := c.sent
	if strings.Contains(path, "/requestBody/") || strings.Contains(path, "/parameters/") {
		all = c.received
	}
	schema, err := all.at(schemaAt)
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		c.broken = append(c.broken, path+": "+err.Error())
	}
}
