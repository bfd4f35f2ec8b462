package conformance_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/conformance"
)

// withExamples is a document with one example, or default, in each place that can have some.
const withExamples = `{
	"openapi": "3.1.0",
	"paths": {"/things/{id}": {
		"parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}, "example": "thg_1"}],
		"post": {
			"parameters": [{"$ref": "#/components/parameters/Limit"}],
			"requestBody": {"content": {"application/json": {
				"schema": {"type": "object", "properties": {"until": {"type": "string", "format": "date-time"}}},
				"examples": {"one": {"value": {"until": "2026-03-02T09:30:00+01:00"}}}}}},
			"responses": {"200": {"content": {"application/json": {
				"schema": {"$ref": "#/components/schemas/Thing"},
				"examples": {"Thing": {"$ref": "#/components/examples/Thing"}}}}}}}}},
	"webhooks": {"made": {"post": {"requestBody": {"content": {"application/json": {
		"schema": {"allOf": [{"type": "object"}, {"properties": {"seq": {"type": "integer"}}}]},
		"example": {"seq": 42}}}}}}},
	"components": {
		"parameters": {"Limit": {"name": "limit", "in": "query",
			"schema": {"type": "integer", "maximum": 100, "default": 20}, "examples": {"few": {"value": 5}}}},
		"responses": {"Plain": {"content": {"text/plain": {"schema": {"type": "string"}, "example": "done"}}}},
		"schemas": {"Thing": {"type": "object", "required": ["made"], "properties": {
			"made": {"type": "string", "format": "date-time", "example": "2026-03-02T09:30:00.001Z"},
			"parts": {"type": "array", "items": {"anyOf": [{"type": "null"},
				{"type": "number", "examples": [1.5, 2.5]}]}}}}},
		"examples": {"Thing": {"value": {"made": "2026-03-02T09:30:00.000Z", "parts": [null, 3]}}}}
}`

func TestAnExampleThatBreaksItsSchemaIsFoundWhereverItIs(t *testing.T) {
	if broken, err := conformance.BrokenExamples([]byte(withExamples)); err != nil || len(broken) > 0 {
		t.Fatalf("as it is, it has broken examples: %q, %v", broken, err)
	}
	const thing = "/paths/~1things~1{id}"
	for name, c := range map[string]struct{ from, to, at string }{
		"of a parameter of a path": {`"thg_1"`, `1`, thing + "/parameters/0/example"},
		"of a shared parameter":    {`{"value": 5}`, `{"value": 500}`, "/components/parameters/Limit/examples/few"},
		"the default of a parameter": {`"default": 20`, `"default": "all"`,
			"/components/parameters/Limit/schema/default"},
		"of a request": {`09:30:00+01:00`, `soon`,
			thing + "/post/requestBody/content/application~1json/examples/one"},
		"shared, of a response": {`[null, 3]`, `["a"]`,
			thing + "/post/responses/200/content/application~1json/examples/Thing"},
		"that is a reference to nothing": {`components/examples/Thing`, `components/examples/None`,
			thing + "/post/responses/200/content/application~1json/examples/Thing"},
		"of a response, with a time in another form": {`09:30:00.000Z`, `09:30:00Z`,
			thing + "/post/responses/200/content/application~1json/examples/Thing"},
		"of a shared response": {`"done"`, `null`, "/components/responses/Plain/content/text~1plain/example"},
		"of a webhook": {`"seq": 42`, `"seq": "42"`,
			"/webhooks/made/post/requestBody/content/application~1json/example"},
		"of a member of a schema": {`09:30:00.001Z`, ``, "/components/schemas/Thing/properties/made/example"},
		"one of several, deep down": {`2.5`, `"b"`,
			"/components/schemas/Thing/properties/parts/items/anyOf/1/examples/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(withExamples, c.from) != 1 {
				t.Fatalf("%s is not there once", c.from)
			}
			broken, err := conformance.BrokenExamples([]byte(strings.Replace(withExamples, c.from, c.to, 1)))
			if err != nil || len(broken) != 1 || !strings.HasPrefix(broken[0], c.at+": ") {
				t.Errorf("found %q, %v; want %s", broken, err, c.at)
			}
		})
	}
}
