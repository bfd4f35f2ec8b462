package openapi

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestABodyMayWriteAnIntegerInEachWayOfJSON(t *testing.T) {
	contract, err := Load()
	require.NoError(t, err)
	total := 0
	for _, o := range contract.Operations() {
		if !o.HasBody {
			continue
		}
		schema, err := o.body()
		require.NoError(t, err)
		visitIntegers(schema, "%s", 6, func(_ *jsonschema.Schema, place string) {
			total++
			for _, literal := range []string{"60.0", "6e1", "6E+1", "600e-1", "0.6e2"} {
				body := fmt.Appendf(nil, place, literal)
				r := reader{decoder: jsontext.NewDecoder(bytes.NewBuffer(bytes.Clone(body)))}
				_, err := r.whole()
				require.NoError(t, err)
				checked, err := r.integers.rewrite(body, o.body)
				require.NoError(t, err)
				assert.Equal(t, o.ID, string(checked), fmt.Sprintf(place, "60"))
			}
		})
	}
	if total < 40 {
		t.Errorf("only %d integers of bodies were found", total)
	}
}

func TestEveryIntegerOfABodyIsBoundedByWhatGoCanHold(t *testing.T) {
	contract, err := Load()
	require.NoError(t, err)
	for _, o := range contract.Operations() {
		if !o.HasBody {
			continue
		}
		schema, err := o.body()
		require.NoError(t, err)
		visitIntegers(schema, "%s", 6, func(s *jsonschema.Schema, place string) {
			if (s.Maximum == nil || s.Minimum == nil) && (s.Format == nil || s.Format.Name != "int64") {
				t.Errorf("%s: the integer of %s has neither bounds nor the format int64", o.ID, place)
			}
		})
	}
}

func TestANumberOfFreeFormJSONStaysAsItWasWritten(t *testing.T) {
	contract, err := Load()
	require.NoError(t, err)
	create, found := contract.Operation("POST", "/api/prompt-templates")
	require.That(t, found, "no such operation")
	body := `{"name":"a","metadata":{"a":60.0,"b":[6e1,1e30],"c":9007199254740993.0}}`
	checked, err := create.CheckBody([]byte(body))
	require.NoError(t, err)
	assert.Equal(t, "body", string(checked), body)
}

func TestWhichNumbersAreIntegers(t *testing.T) {
	for literal, want := range map[string]string{
		"60.0": "60", "6e1": "60", "-6.0e1": "-60", "-0.0": "0", "9223372036854775807.0": "9223372036854775807",
		"9007199254740993.0": "9007199254740993", "60.5": "none", "1e-1": "none", "9223372036854775808.0": "none",
		"1e300": "none",
	} {
		got := "none"
		if n, ok := integerOf(literal); ok {
			got = fmt.Sprint(n)
		}
		assert.Equal(t, literal, got, want)
	}
}

// visitIntegers visits each integer of a schema, with the JSON text in which %s stands for its value.
func visitIntegers(s *jsonschema.Schema, place string, depth int, visit func(s *jsonschema.Schema, place string)) {
	if s == nil || depth == 0 {
		return
	}
	if s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		visit(s, place)
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
		visitIntegers(part, place, depth, visit)
	}
	for name, member := range s.Properties {
		visitIntegers(member, fmt.Sprintf(place, fmt.Sprintf(`{%q: %%s}`, name)), depth-1, visit)
	}
	if member, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		visitIntegers(member, fmt.Sprintf(place, `{"any name": %s}`), depth-1, visit)
	}
	visitIntegers(s.Items2020, fmt.Sprintf(place, `[%s]`), depth-1, visit)
}
