package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// broken lists what Breaks returns, one line for each.
func broken(from, to prompt.Content) (out []string) {
	for _, b := range prompt.Breaks(from, to) {
		out = append(out, strings.TrimSpace(b.Member+" "+b.Name)+": "+b.Code)
	}
	return out
}

func TestBreaksOfVariables(t *testing.T) {
	type list = []prompt.Variable
	optional := prompt.Variable{Name: "a", Type: "string"}
	requiredVariable := prompt.Variable{Name: "a", Type: "string", Required: true}
	filledVariable := prompt.Variable{Name: "a", Type: "string", Required: true, Default: json.RawMessage(`"x"`)}
	number := prompt.Variable{Name: "a", Type: "number"}
	free := prompt.Variable{Name: "a", Type: "any"}
	small := prompt.Variable{Name: "a", Type: "string", Enum: []any{"x"}}
	multiple := prompt.Variable{Name: "a", Type: "string", Enum: []any{"x", "y"}}
	const needed, typed, narrowed = "variables a: variable_required", "variables a: variable_type_changed",
		"variables a: variable_enum_narrowed"
	for name, tt := range map[string]struct {
		from, to list
		want     []string
	}{
		"a new required variable":                  {nil, list{requiredVariable}, []string{needed}},
		"a new one with a default is no break":     {nil, list{filledVariable}, nil},
		"a new optional one is no break":           {nil, list{optional}, nil},
		"one that is gone is no break":             {list{requiredVariable}, nil, nil},
		"one that becomes required":                {list{optional}, list{requiredVariable}, []string{needed}},
		"one that loses its default":               {list{filledVariable}, list{requiredVariable}, []string{needed}},
		"one that becomes optional is no break":    {list{requiredVariable}, list{optional}, nil},
		"another type":                             {list{optional}, list{number}, []string{typed}},
		"every type is no break":                   {list{number}, list{free}, nil},
		"a type where there was none":              {list{free}, list{number}, []string{typed}},
		"fewer values":                             {list{multiple}, list{small}, []string{narrowed}},
		"values where all were allowed":            {list{optional}, list{small}, []string{narrowed}},
		"more values are no break":                 {list{small}, list{multiple}, nil},
		"all values where some were, are no break": {list{small}, list{optional}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := broken(prompt.Content{Variables: tt.from}, prompt.Content{Variables: tt.to}); !slices.Equal(got,
				tt.want) {
				t.Errorf("breaks = %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a placeholder that must be filled", func(t *testing.T) {
		chat := func(isRequired bool) prompt.Content {
			return prompt.Content{Messages: []prompt.Message{{Placeholder: "history", Required: isRequired}}}
		}
		if got := broken(chat(false), chat(true)); !slices.Equal(got, []string{
			"variables history: variable_required"}) {
			t.Errorf("breaks = %q", got)
		}
	})
}

func TestBreaksOfTools(t *testing.T) {
	const search = `{"type":"function","function":{"name":"search","parameters":{"type":"object","properties":{` +
		`"q":{"type":"string"},"kind":{"enum":["a","b"]}},"required":["q"]}}}`
	for name, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"the same tools":      {`[` + search + `]`, `[` + search + `]`, nil},
		"a tool that is new":  {``, `[` + search + `]`, []string{"tools search: tool_added"}},
		"a tool that is gone": {`[` + search + `]`, ``, nil},
		"another provider's writing": {`[` + search + `]`, `[{"name":"search","input_schema":{"type":"object",` +
			`"properties":{"q":{"type":"string"},"kind":{"const":"a"},"new":{}},"required":["q","new"]}}]`, nil},
		"a type of tool, which has no name": {``, `[{"type":"web_search"}]`,
			[]string{"tools web_search: tool_added"}},
		"an argument that can be absent": {`[` + search + `]`, `[` + strings.Replace(search, `["q"]`, `[]`, 1) + `]`,
			[]string{"tools search.q: property_optional"}},
		"an argument that is gone": {`[` + search + `]`,
			`[` + strings.Replace(search, `"q":{"type":"string"},`, ``, 1) + `]`,
			[]string{"tools search.q: property_removed"}},
		"another value of an argument": {`[` + search + `]`, `[` + strings.Replace(search, `"b"`, `"b","c"`, 1) + `]`,
			[]string{"tools search.kind: schema_enum_extended"}},
		"arguments without a schema": {`[` + search + `]`, `[{"name":"search"}]`,
			[]string{"tools search: schema_type_changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := broken(prompt.Content{Tools: raw(tt.from)}, prompt.Content{Tools: raw(tt.to)})
			assert.EqualSlice(t, "breaks", got, tt.want)
		})
	}
}

func TestBreaksOfResponses(t *testing.T) {
	schema := func(s string) string { return `{"type":"json_schema","json_schema":{"name":"n","schema":` + s + `}}` }
	const other = "response_format: response_format_changed"
	for name, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"none as before":             {``, ``, nil},
		"text is none":               {``, `{"type":"text"}`, nil},
		"an object instead of text":  {``, `{"type":"json_object"}`, []string{other}},
		"text instead of an object":  {`{"type":"json_object"}`, ``, []string{other}},
		"a schema for an object":     {`{"type":"json_object"}`, schema(`{"type":"object"}`), nil},
		"no schema any more":         {schema(`{"type":"object"}`), `{"type":"json_object"}`, []string{other}},
		"a schema that is the whole": {schema(`{"type":"object"}`), `{"type":"object"}`, nil},
		"an integer for a number":    {schema(`{"type":"number"}`), schema(`{"type":"integer"}`), nil},
		"a number for an integer": {schema(`{"type":"integer"}`), schema(`{"type":"number"}`),
			[]string{"response_format: schema_type_changed"}},
		"a type less": {schema(`{"type":["string","null"]}`), schema(`{"type":"string"}`), nil},
		"items of another type": {schema(`{"items":{"type":"string"}}`), schema(`{"items":{"type":"null"}}`),
			[]string{"response_format []: schema_type_changed"}},
		"another description": {schema(`{"description":"a"}`), schema(`{"description":"b"}`), nil},
		"a keyword that is not known": {schema(`{"anyOf":[{}]}`), schema(`{"anyOf":[]}`),
			[]string{"response_format anyOf: schema_changed"}},
		"a required that is no string": {schema(`{"required":[{}],"properties":{"a":{}}}`), schema(`{"required":[[]]}`),
			[]string{"response_format a: property_removed"}},
		"the values of a list of lists": {schema(`{"enum":[[1],{"a":1.0}]}`), schema(`{"enum":[{"a":1}]}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := broken(prompt.Content{ResponseFormat: raw(tt.from)}, prompt.Content{ResponseFormat: raw(tt.to)})
			assert.EqualSlice(t, "breaks", got, tt.want)
		})
	}
	t.Run("what is listed is bounded, and so is each name", func(t *testing.T) {
		long := strings.Repeat("ä", 300)
		var members []string
		for i := range 200 {
			members = append(members, fmt.Sprintf(`"%s%d":{}`, long, i))
		}
		got := prompt.Breaks(prompt.Content{ResponseFormat: raw(schema(
			`{"properties":{` + strings.Join(members, ",") + `}}`))}, prompt.Content{ResponseFormat: raw(schema(`{}`))})
		if len(got) != 100 || len([]rune(got[0].Name)) != 200 {
			t.Errorf("%d breaks, the first named %q", len(got), got[0].Name)
		}
	})
}

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func TestKeepsContract(t *testing.T) {
	_, versions := sharedTemplate()
	from, to := versions[1], versions[2]
	to.Content.Variables = []prompt.Variable{{Name: "a", Type: "any", Required: true}}
	for name, tt := range map[string]struct {
		compatibility prompt.Compatibility
		from          *prompt.Version
		want          error
	}{
		"a break is refused":                  {prompt.Backward, from, prompt.ErrContractBreak},
		"but not where nothing is checked":    {prompt.Unchecked, from, nil},
		"nor for the first version of all":    {prompt.Backward, nil, nil},
		"the same content breaks no contract": {prompt.Backward, to, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			tmpl.Compatibility = tt.compatibility
			err := tmpl.KeepsContract(tt.from, to)
			require.ErrorIs(t, err, tt.want)
			if f, ok := errors.AsType[*fault.Error](err); tt.want != nil && (!ok || len(f.Breaks) != 1) {
				t.Errorf("error = %+v", err)
			}
		})
	}
}
