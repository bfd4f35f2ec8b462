package openapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// What a request's schema may say is what fields.go has words for.
func TestRequestSchemas(t *testing.T) {
	doc := document(t)
	existing := strings.Fields(`$ref type format enum minLength maxLength minItems maxItems uniqueItems maxProperties
		minimum maximum pattern required properties additionalProperties items oneOf description default examples x-secret`)
	var check func(t *testing.T, path string, schema object, seen map[string]bool)
	check = func(t *testing.T, path string, schema object, seen map[string]bool) {
		if ref, ok := schema["$ref"].(string); ok {
			if seen[ref] {
				return
			}
			seen[ref] = true
			check(t, ref, follow(doc, schema), seen)
		}
		for keyword := range schema {
			if !slices.Contains(existing, keyword) {
				t.Errorf("%s: fields.go has no words for %s", path, keyword)
			}
		}
		// Their members are GitHub's, and model servers', to define.
		isOthers := strings.HasSuffix(path, "/LeakedKey") || strings.HasSuffix(path, "/PromptContentPart")
		if schema["properties"] != nil && schema["additionalProperties"] != false && !isOthers {
			t.Errorf("%s takes unknown members", path)
		}
		if branches := list(schema["oneOf"]); branches != nil &&
			(len(branches) != 2 || branches[1].(object)["type"] != "null") {
			t.Errorf("%s: oneOf is for something or null", path)
		}
		properties, _ := schema["properties"].(object)
		for name, member := range properties {
			check(t, path+"/"+name, member.(object), seen)
		}
		if items, ok := schema["items"].(object); ok {
			check(t, path+"/items", items, seen)
		}
		for _, branch := range list(schema["oneOf"]) {
			check(t, path+"/oneOf", branch.(object), seen)
		}
	}
	declared(t, doc, func(t *testing.T, o *openapi.Operation, d object) {
		body, ok := d["requestBody"].(object)
		if !ok {
			return
		}
		var first any
		for mediaType, media := range body["content"].(object) {
			if mediaType == "application/octet-stream" {
				continue // bytes have none
			}
			schema := media.(object)["schema"].(object)
			if first == nil {
				first = schema["$ref"]
			}
			if schema["$ref"] != first {
				t.Errorf("%s has a schema of its own", mediaType)
			}
			check(t, o.ID, schema, map[string]bool{})
		}
	})
}

func list(node any) []any {
	items, _ := node.([]any)
	return items
}
