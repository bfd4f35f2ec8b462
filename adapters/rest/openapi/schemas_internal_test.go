package openapi

import (
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEverySchemaOfARequestCompiles(t *testing.T) {
	contract, err := Load()
	require.NoError(t, err)
	compiled := 0
	compiles := func(o *Operation, what string, value lazySchema) {
		compiled++
		if err := value.check(nil); err != nil && !errors.As(err, new(*jsonschema.ValidationError)) {
			t.Errorf("%s: %s: %v", o.ID, what, err)
		}
	}
	for _, o := range contract.Operations() {
		if o.HasBody {
			compiles(o, "body", o.body)
		}
		for name, p := range o.query {
			compiles(o, name, p.value)
		}
		for _, p := range o.headers {
			compiles(o, p.Name, p.value)
		}
	}
	if compiled < 300 {
		t.Errorf("only %d schemas were compiled", compiled)
	}
}
