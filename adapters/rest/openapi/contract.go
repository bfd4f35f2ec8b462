// Package openapi is the contract of the HTTP API: openapi.yaml, the types of bodies that are generated from it, and
// the checks of requests against it. It checks only shapes (types, lengths, patterns, enumerations); the domain checks
// the meaning of values.
package openapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go run ../../../tools/openapi spec openapi.yaml openapi.gen.json checks.gen.json
//go:generate go tool oapi-codegen -config models.yaml openapi.yaml
//go:generate go run ../../../tools/clients openapi.gen.json ../../../clients samples.gen.json ../../../domain/mustache

//go:embed openapi.gen.json
var text []byte

//go:embed checks.gen.json
var checks []byte

//go:embed samples.gen.json
var samples []byte

// Samples returns sample calls of each operation that clients have: a JSON object of operation ids, whose values have
// the members call (x-sdk), curl, typescript, go and python. Callers do not change it.
func Samples() []byte { return samples }

// defaultMaxBody is a body's limit in bytes where x-max-bytes sets no other.
const defaultMaxBody = 64 << 10

// Contract is openapi.yaml, read and compiled. It does not change, and is safe for concurrent use.
type Contract struct {
	json       []byte
	operations []*Operation // by path, then method
	byRoute    map[route]*Operation
	problems   []ProblemType // by code
	byCode     map[string]ProblemType
	eventTypes func() []EventType // by type
}

type route struct{ method, path string }

// Operation is one method of one path.
type Operation struct {
	ID     string // operationId
	Method string // upper case
	Path   string // template: /api/workspaces/{workspace_id}

	HasBody      bool
	BodyRequired bool
	MaxBody      int64    // bytes; zero without a body
	MediaTypes   []string // that the body may have, sorted

	// Codes are the codes of the problems that the operation can return, sorted, without those for an unknown path or
	// method.
	Codes []string

	Access Access

	// Scope is the scope that an API key with scopes needs. It is empty if the operation needs no credential.
	Scope identity.Scope

	// Secret means that a member of the body is marked with x-secret.
	Secret bool

	// Outbound means that the operation reaches another system before it stores anything.
	Outbound bool

	// Stream means that the response can be sent in parts, and so outlast the access of its caller: it ends with that.
	Stream bool

	body    lazySchema
	query   map[string]parameter
	headers []parameter
}

// Access is who may call an operation, as openapi.yaml declares it for the tests of authorization; the rules themselves
// are in the domain. It does not cover what users may do with their own objects, such as leaving a workspace.
type Access struct {
	// Area is what access depends on: prompt_template, the role on the template of the path (api.md, section 5);
	// workspace, the role in the caller's workspace; self, any credential; public, nothing.
	Area string `json:"area"`
	// Needs is the lowest sufficient role, for an unprotected template: viewer, editor, manager or owner; of a
	// workspace: viewer, member, admin or owner. Empty in the other areas.
	Needs string `json:"needs"`
}

// ProblemType is the contract's description for a problem code (RFC 9457, section 3.1.1).
type ProblemType struct {
	Code        string
	Status      int
	Title       string
	Description string // one or two sentences in Markdown: what happened, what to do
}

// Load reads the contract that is compiled into the binary. An error is a mistake in openapi.yaml. A schema is compiled
// when a request first needs it: compiling all of them would make a start take three times as long.
func Load() (*Contract, error) {
	doc, err := readDocument(checks)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	c := &Contract{
		json: text, eventTypes: sync.OnceValue(func() []EventType { return catalogue(text) }),
		byRoute: map[route]*Operation{}, byCode: map[string]ProblemType{},
	}
	for code, p := range doc.Problems {
		c.byCode[code] = ProblemType{Code: code, Status: p.Status, Title: p.Title, Description: p.Description}
		c.problems = append(c.problems, c.byCode[code])
	}
	slices.SortFunc(c.problems, func(a, b ProblemType) int { return cmp.Compare(a.Code, b.Code) })
	for path, item := range doc.Paths {
		for method, operation := range item.operations() {
			o, err := doc.compile(method, path, item, operation)
			if err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", method, path, err)
			}
			c.byRoute[route{method, path}] = o
			c.operations = append(c.operations, o)
		}
	}
	slices.SortFunc(c.operations, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return c, nil
}

// JSON returns the document, without the parts that only the generator reads. Callers must not change
// it.
func (c *Contract) JSON() []byte { return c.json }

// JSONOf returns the document with only the operations that are served.
func (c *Contract) JSONOf(isServed func(method, path string) bool) ([]byte, error) {
	isExcluded := func(o *Operation) bool { return !isServed(o.Method, o.Path) }
	if !slices.ContainsFunc(c.operations, isExcluded) {
		return c.json, nil
	}
	var document map[string]json.RawMessage
	var paths map[string]map[string]json.RawMessage
	if err := json.Unmarshal(c.json, &document); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(document["paths"], &paths); err != nil {
		return nil, err
	}
	for _, o := range c.operations {
		if isExcluded(o) {
			delete(paths[o.Path], strings.ToLower(o.Method))
		}
	}
	maps.DeleteFunc(paths, func(_ string, item map[string]json.RawMessage) bool {
		_, hasParameters := item["parameters"]
		return len(item) == 0 || (len(item) == 1 && hasParameters)
	})
	var err error
	if document["paths"], err = json.Marshal(paths); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// Operation returns the operation for a method on a path template, as openapi.yaml writes it.
func (c *Contract) Operation(method, pathTemplate string) (*Operation, bool) {
	o, ok := c.byRoute[route{method, pathTemplate}]
	return o, ok
}

// Operations returns all operations, by path and then method. Callers must not change the slice.
func (c *Contract) Operations() []*Operation { return c.operations }

// Problem returns the contract's description for a code.
func (c *Contract) Problem(code string) (ProblemType, bool) {
	p, ok := c.byCode[code]
	return p, ok
}

// Problems returns all codes, sorted. Callers must not change the slice.
func (c *Contract) Problems() []ProblemType { return c.problems }

// TakesHeader reports whether the operation declares a request header.
func (o *Operation) TakesHeader(name string) bool {
	return slices.ContainsFunc(o.headers, func(p parameter) bool { return p.Name == name })
}
