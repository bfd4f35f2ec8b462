package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/schema"
)

// document is the part of openapi.yaml that requests are checked by.
type document struct {
	Paths      map[string]pathItem `json:"paths"`
	Components struct {
		Parameters map[string]parameter `json:"parameters"`
		Responses  map[string]response  `json:"responses"`
		Schemas    map[string]any       `json:"schemas"`
	} `json:"components"`
	Problems map[string]struct {
		Status      int    `json:"status"`
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"x-problems"`

	compiler *jsonschema.Compiler
}

type pathItem struct {
	Parameters []parameter `json:"parameters"`
	Get        *operation  `json:"get"`
	Put        *operation  `json:"put"`
	Post       *operation  `json:"post"`
	Patch      *operation  `json:"patch"`
	Delete     *operation  `json:"delete"`
}

type operation struct {
	ID         string              `json:"operationId"`
	Parameters []parameter         `json:"parameters"`
	Body       *requestBody        `json:"requestBody"`
	Responses  map[string]response `json:"responses"`
	Codes      []string            `json:"x-codes"`
	Access     Access              `json:"x-access"`
	Scope      identity.Scope      `json:"x-scope"`
	Outbound   bool                `json:"x-outbound"`
}

type requestBody struct {
	Required bool           `json:"required"`
	MaxBytes int64          `json:"x-max-bytes"`
	Content  map[string]any `json:"content"`
}

type response struct {
	Ref   string   `json:"$ref"`
	Codes []string `json:"x-codes"`
}

type parameter struct {
	Ref    string `json:"$ref"`
	Name   string `json:"name"`
	In     string `json:"in"`
	Style  string `json:"style"`
	Code   string `json:"x-code"`
	Schema struct {
		Type string `json:"type"`
	} `json:"schema"`

	schema *jsonschema.Schema
}

// location is where the schemas of the document refer to each other; nothing is ever fetched.
const location = "https://atrium.invalid/openapi.json"

func readDocument(text []byte) (*document, error) {
	doc := &document{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(text, doc); err != nil {
		return nil, err
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	doc.compiler.DefaultDraft(jsonschema.Draft2020)
	doc.compiler.AssertFormat()
	doc.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	doc.compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: checkInt64})
	return doc, doc.compiler.AddResource(location, resource)
}

// operations yields the operations of a path by their methods.
func (p pathItem) operations() iter.Seq2[string, *operation] {
	return func(yield func(string, *operation) bool) {
		for method, o := range map[string]*operation{
			http.MethodGet: p.Get, http.MethodPut: p.Put, http.MethodPost: p.Post, http.MethodPatch: p.Patch,
			http.MethodDelete: p.Delete,
		} {
			if o != nil && !yield(method, o) {
				return
			}
		}
	}
}

// compile makes what requests are checked by.
func (d *document) compile(method, path string, item pathItem, declared *operation) (*Operation, error) {
	o := &Operation{ID: declared.ID, Method: method, Path: path, Access: declared.Access, Scope: declared.Scope,
		Outbound: declared.Outbound, query: map[string]parameter{}}
	at := "/paths/" + schema.Token(path)
	for i := range item.Parameters {
		if err := d.addParameter(o, item.Parameters[i], fmt.Sprint(at, "/parameters/", i)); err != nil {
			return nil, err
		}
	}
	at += "/" + strings.ToLower(method)
	for i := range declared.Parameters {
		if err := d.addParameter(o, declared.Parameters[i], fmt.Sprint(at, "/parameters/", i)); err != nil {
			return nil, err
		}
	}
	if b := declared.Body; b != nil {
		o.HasBody, o.BodyRequired, o.MaxBody = true, b.Required, b.MaxBytes
		if o.MaxBody == 0 {
			o.MaxBody = defaultMaxBody
		}
		o.Secret = d.secret(b.Content, map[string]bool{})
		o.MediaTypes = slices.Sorted(maps.Keys(b.Content))
		if len(o.MediaTypes) == 0 {
			return nil, errors.New("the request body has no content")
		}
		var err error // all media types of a body share one schema: a test holds them to it
		if o.body, err = d.schema(at + "/requestBody/content/" + schema.Token(o.MediaTypes[0]) +
			"/schema"); err != nil {
			return nil, err
		}
	}
	codes := slices.Clone(declared.Codes)
	for status, r := range declared.Responses {
		if r.Ref != "" {
			shared, ok := d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
			if !ok {
				return nil, fmt.Errorf("response %s: %s leads nowhere", status, r.Ref)
			}
			r = shared
		}
		codes = append(codes, r.Codes...)
	}
	slices.Sort(codes)
	o.Codes = slices.Compact(codes)
	return o, nil
}

func (d *document) addParameter(o *Operation, p parameter, at string) error {
	if p.Ref != "" {
		shared, ok := d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		if !ok {
			return fmt.Errorf("parameter: %s leads nowhere", p.Ref)
		}
		at, p = strings.TrimPrefix(p.Ref, "#"), shared
	}
	if p.In == "path" {
		return nil // a malformed one is a 404, which the domain answers
	}
	var err error
	pointer := at + "/schema"
	if p.Style == deepObject {
		pointer += "/additionalProperties"
	}
	if p.schema, err = d.schema(pointer); err != nil {
		return err
	}
	if p.In == "query" {
		o.query[p.Name] = p
		return nil
	}
	p.Name = http.CanonicalHeaderKey(p.Name)
	o.headers = append(o.headers, p)
	return nil
}

func (d *document) schema(pointer string) (*jsonschema.Schema, error) {
	return d.compiler.Compile(location + "#" + pointer)
}

// secret reports whether x-secret marks something in v or in a schema that it refers to.
func (d *document) secret(v any, seen map[string]bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return d.secret(item, seen) })
	case map[string]any:
		if v["x-secret"] == true {
			return true
		}
		ref, _ := v["$ref"].(string)
		if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); ok && !seen[name] {
			seen[name] = true
			if d.secret(d.Components.Schemas[name], seen) {
				return true
			}
		}
		for _, member := range v {
			if d.secret(member, seen) {
				return true
			}
		}
	}
	return false
}
