package openapi

import (
	"bytes"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// location is where the schemas of the document refer to each other; nothing is ever fetched.
const location = "https://atrium.invalid/openapi.json"

// check compares a value with a schema. A value that does not fit fails with a *jsonschema.ValidationError.
type check func(v any) error

// schemas compiles a document's schemas, each when it is needed.
type schemas struct {
	text []byte

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// check returns the check of the schema that a JSON pointer leads to.
func (s *schemas) check(pointer string) check {
	compile := sync.OnceValues(func() (*jsonschema.Schema, error) { return s.compile(pointer) })
	return func(v any) error {
		schema, err := compile()
		if err != nil {
			return err
		}
		return schema.Validate(v)
	}
}

// compile returns the schema at a JSON Pointer. The first call reads the document.
func (s *schemas) compile(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiler == nil {
		resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.text))
		if err != nil {
			return nil, err
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		compiler.AssertFormat()
		compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
		compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: checkInt64})
		if err := compiler.AddResource(location, resource); err != nil {
			return nil, err
		}
		s.compiler = compiler
	}
	return s.compiler.Compile(location + "#" + pointer)
}
