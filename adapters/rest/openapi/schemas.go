package openapi

import (
	"bytes"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// location is where the schemas of the document refer to each other; nothing is ever fetched.
const location = "https://atrium.invalid/openapi.json"

// lazySchema returns a schema that is compiled when it is first needed.
type lazySchema func() (*jsonschema.Schema, error)

// check compares a value with the schema. A value that does not fit fails with a *jsonschema.ValidationError.
func (s lazySchema) check(v any) error {
	compiled, err := s()
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}

// schemas compiles a document's schemas, each when it is needed.
type schemas struct {
	text []byte

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// lookUp returns the schema that a JSON pointer leads to.
func (s *schemas) lookUp(pointer string) lazySchema {
	return sync.OnceValues(func() (*jsonschema.Schema, error) { return s.compile(pointer) })
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
