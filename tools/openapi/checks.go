package main

import (
	"encoding/json"
	"slices"
	"strings"
)

type object = map[string]any

// checks reduces a document to what the server checks requests by: it is a tenth of the document, which the server
// would otherwise read at each start and keep. Places in it are those of the document.
func checks(document []byte) ([]byte, error) {
	var doc object
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	components, _ := doc["components"].(object)
	schemas, _ := components["schemas"].(object)
	responses, _ := components["responses"].(object)
	r := reducer{schemas: schemas, responses: responses, used: object{}}
	paths := object{}
	for path, item := range members(doc["paths"]) {
		kept := object{}
		for key, value := range members(item) {
			if key == "parameters" {
				kept[key] = r.parameters(value)
				continue
			}
			kept[key] = r.operation(members(value))
		}
		paths[path] = kept
	}
	parameters := object{}
	for name, p := range members(components["parameters"]) {
		parameters[name] = r.parameter(members(p))
	}
	return json.Marshal(object{
		"paths": paths, "x-problems": doc["x-problems"],
		"components": object{"parameters": parameters, "schemas": r.used},
	})
}

// reducer collects the schemas that requests use.
type reducer struct{ schemas, responses, used object }

// operation keeps what the server checks requests against. Texts stay in the document.
func (r reducer) operation(o object) object {
	kept := only(o, "operationId", "x-access", "x-scope", "x-outbound", "x-stream")
	kept["x-codes"] = r.codes(o)
	if o["parameters"] != nil {
		kept["parameters"] = r.parameters(o["parameters"])
	}
	if body := members(o["requestBody"]); body != nil {
		content := object{}
		for mediaType, media := range members(body["content"]) {
			content[mediaType] = object{"schema": r.schema(members(media)["schema"])}
		}
		reduced := only(body, "required", "x-max-bytes")
		reduced["content"], reduced["x-secret"] = content, r.secret(content, map[string]bool{})
		kept["requestBody"] = reduced
	}
	return kept
}

// codes returns the codes of an operation and of the responses that it shares with others, sorted.
func (r reducer) codes(o object) []string {
	all := texts(o["x-codes"])
	for _, v := range members(o["responses"]) {
		response := members(v)
		if ref, ok := response["$ref"].(string); ok {
			response = members(r.responses[strings.TrimPrefix(ref, "#/components/responses/")])
		}
		all = append(all, texts(response["x-codes"])...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func (r reducer) parameters(v any) []any {
	list, _ := v.([]any)
	kept := make([]any, len(list))
	for i, p := range list {
		kept[i] = r.parameter(members(p))
	}
	return kept
}

func (r reducer) parameter(p object) object {
	kept := only(p, "$ref", "name", "in", "style", "x-code")
	if p["schema"] != nil {
		kept["schema"] = r.schema(p["schema"])
	}
	return kept
}

// schema drops what says nothing of values, and collects what the schema refers to.
func (r reducer) schema(v any) any {
	switch v := v.(type) {
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = r.schema(item)
		}
		return kept
	case object:
		kept := object{}
		for keyword, value := range v {
			switch keyword {
			case "title", "description", "default", "example", "examples":
			case "enum", "const", "required":
				kept[keyword] = value
			case "properties":
				named := object{}
				for name, property := range members(value) {
					named[name] = r.schema(property)
				}
				kept[keyword] = named
			case "$ref":
				kept[keyword] = value
				r.collect(value)
			default:
				kept[keyword] = r.schema(value)
			}
		}
		return kept
	}
	return v
}

func (r reducer) collect(ref any) {
	name := component(ref)
	if _, ok := r.used[name]; ok || name == "" {
		return
	}
	r.used[name] = nil // it may refer to itself
	r.used[name] = r.schema(r.schemas[name])
}

// secret reports whether x-secret marks something in v or in a schema that it refers to.
func (r reducer) secret(v any, seen map[string]bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return r.secret(item, seen) })
	case object:
		if v["x-secret"] == true {
			return true
		}
		if name := component(v["$ref"]); name != "" && !seen[name] {
			seen[name] = true
			if r.secret(r.schemas[name], seen) {
				return true
			}
		}
		for _, member := range v {
			if r.secret(member, seen) {
				return true
			}
		}
	}
	return false
}

// component returns the name of the schema that a reference leads to, or nothing.
func component(ref any) string {
	text, _ := ref.(string)
	name, ok := strings.CutPrefix(text, "#/components/schemas/")
	if !ok {
		return ""
	}
	return name
}

func members(v any) object {
	o, _ := v.(object)
	return o
}

// only returns the members of o that have one of the names.
func only(o object, names ...string) object {
	kept := object{}
	for _, name := range names {
		if value, ok := o[name]; ok {
			kept[name] = value
		}
	}
	return kept
}
