package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/schema"
)

// document is the part of openapi.yaml that is used to check requests.
type document struct {
	Paths      map[string]pathItem `json:"paths"`
	Components struct {
		Parameters map[string]parameter `json:"parameters"`
	} `json:"components"`
	Problems map[string]struct {
		Status      int    `json:"status"`
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"x-problems"`

	schemas *schemas
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
	ID         string         `json:"operationId"`
	Parameters []parameter    `json:"parameters"`
	Body       *requestBody   `json:"requestBody"`
	Codes      []string       `json:"x-codes"`
	Access     Access         `json:"x-access"`
	Scope      identity.Scope `json:"x-scope"`
	Outbound   bool           `json:"x-outbound"`
	Stream     bool           `json:"x-stream"`
}

type requestBody struct {
	Required bool                `json:"required"`
	MaxBytes int64               `json:"x-max-bytes"`
	Secret   bool                `json:"x-secret"`
	Content  map[string]struct{} `json:"content"`
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

	value lazySchema
}

func readDocument(text []byte) (*document, error) {
	doc := &document{schemas: &schemas{text: text}}
	return doc, json.Unmarshal(text, doc)
}

// operations yields a path's operations by their methods.
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

// compile creates the checks of requests.
func (d *document) compile(method, path string, item pathItem, op *operation) (*Operation, error) {
	o := &Operation{ID: op.ID, Method: method, Path: path, Codes: op.Codes, Access: op.Access,
		Scope: op.Scope, Outbound: op.Outbound, Stream: op.Stream, query: map[string]parameter{}}
	place := "/paths/" + schema.Token(path)
	for i := range item.Parameters {
		if err := d.addParameter(o, item.Parameters[i], fmt.Sprint(place, "/parameters/", i)); err != nil {
			return nil, err
		}
	}
	place += "/" + strings.ToLower(method)
	for i := range op.Parameters {
		if err := d.addParameter(o, op.Parameters[i], fmt.Sprint(place, "/parameters/", i)); err != nil {
			return nil, err
		}
	}
	if b := op.Body; b != nil {
		o.HasBody, o.BodyRequired, o.MaxBody = true, b.Required, b.MaxBytes
		if o.MaxBody == 0 {
			o.MaxBody = defaultMaxBody
		}
		o.Secret = b.Secret
		o.MediaTypes = slices.Sorted(maps.Keys(b.Content))
		if len(o.MediaTypes) == 0 {
			return nil, errors.New("the request body has no content")
		}
		// all of a body's media types share one schema: a test checks that
		pointer := place + "/requestBody/content/" + schema.Token(o.MediaTypes[0]) + "/schema"
		o.body = d.schemas.lookUp(pointer)
	}
	return o, nil
}

// addParameter adds a query or header parameter to an operation. place is the JSON Pointer of its definition.
func (d *document) addParameter(o *Operation, p parameter, place string) error {
	if p.Ref != "" {
		component, ok := d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		if !ok {
			return fmt.Errorf("parameter: %s leads nowhere", p.Ref)
		}
		place, p = strings.TrimPrefix(p.Ref, "#"), component
	}
	if p.In == "path" {
		return nil // a malformed one is a 404 of the domain
	}
	pointer := place + "/schema"
	if p.Style == deepObject {
		pointer += "/additionalProperties"
	}
	p.value = d.schemas.lookUp(pointer)
	if p.In == "query" {
		o.query[p.Name] = p
		return nil
	}
	p.Name = http.CanonicalHeaderKey(p.Name)
	o.headers = append(o.headers, p)
	return nil
}
