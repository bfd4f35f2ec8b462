package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const documentURL = "https://atrium.invalid/openapi.json"

// schemas compiles each schema of a document once, when it is first needed.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by JSON pointer
}

// newSchemas returns the schemas of a document, which is the result of jsonschema.UnmarshalJSON.
func newSchemas(document any) (*schemas, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	return &schemas{compiler: compiler, compiled: map[string]*jsonschema.Schema{}},
		compiler.AddResource(documentURL, document)
}

// answeredSchemas returns the schemas of a document for what the server sends: times have one form.
func answeredSchemas(document any) (*schemas, error) {
	s, err := newSchemas(document)
	if err == nil {
		s.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkAnsweredTime})
	}
	return s, err
}

var answeredTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// checkAnsweredTime requires one form of RFC 3339 in responses: UTC with milliseconds.
func checkAnsweredTime(v any) error {
	if s, ok := v.(string); ok && !answeredTime.MatchString(s) {
		return errors.New("not in UTC with milliseconds")
	}
	return nil
}

// at returns the schema at a JSON pointer.
func (s *schemas) at(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	schema, ok := s.compiled[pointer]
	if !ok {
		var err error
		if schema, err = s.compiler.Compile(documentURL + "#" + pointer); err != nil {
			return nil, fmt.Errorf("openapi.yaml#%s: %w", pointer, err)
		}
		s.compiled[pointer] = schema
	}
	return schema, nil
}

func escape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
