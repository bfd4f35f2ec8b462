package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

const contractFile = "../../adapters/rest/openapi/openapi.gen.json"

func contract(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(contractFile)
	require.NoError(t, err)
	return text
}

func TestEveryOperationHasAUniqueNameThatAllLanguagesCanUse(t *testing.T) {
	d, err := load(contract(t))
	require.NoError(t, err)
	for _, name := range []func(string) string{goName, snakePath} {
		seen := map[string]string{}
		for _, c := range d.calls {
			if other := seen[name(c.name)]; other != "" {
				t.Errorf("%s and %s have the same name in a language: %s", c.name, other, name(c.name))
			}
			seen[name(c.name)] = c.name
		}
	}
}

func TestGeneratingTwiceGivesTheSame(t *testing.T) {
	text := contract(t)
	d, err := load(text)
	require.NoError(t, err)
	first, err := generate(d)
	require.NoError(t, err)
	for range 5 {
		if d, err = load(text); err != nil {
			t.Fatal(err)
		}
		second, err := generate(d)
		require.NoError(t, err)
		for name := range first {
			if string(first[name]) != string(second[name]) {
				t.Fatalf("%s differs", name)
			}
		}
	}
}

func TestTheCommittedClientsAreThoseOfTheContract(t *testing.T) {
	d, err := load(contract(t))
	require.NoError(t, err)
	files, err := generate(d)
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile("../../clients/" + name)
		require.NoError(t, err)
		if string(got) != string(want) {
			t.Errorf("clients/%s is out of date: run go generate ./adapters/rest/...", name)
		}
	}
}

// changed returns the contract with one change to the operation createPromptTemplate.
func changed(t *testing.T, change func(operation, components map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(contract(t), &doc))
	valuesAt := func(path ...string) map[string]any {
		v := doc
		for _, p := range path {
			inner, ok := v[p].(map[string]any)
			if !ok {
				t.Fatalf("there is no %v", path)
			}
			v = inner
		}
		return v
	}
	change(valuesAt("paths", "/api/prompt-templates", "post"), valuesAt("components", "schemas"))
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	return text
}

func TestTheGeneratorRefusesWhatTheClientsCannotExpress(t *testing.T) {
	type object = map[string]any
	for name, tt := range map[string]struct {
		change func(operation, components object)
		want   string
	}{
		"an operation without a name": {func(o, _ object) { delete(o, "x-sdk") },
			"createPromptTemplate (POST /api/prompt-templates): x-sdk is missing"},
		"a name that is taken":      {func(o, _ object) { o["x-sdk"] = "promptTemplates.list" }, "has this name already"},
		"a name in another style":   {func(o, _ object) { o["x-sdk"] = "prompt_templates.create" }, "lower camel case"},
		"a name without a resource": {func(o, _ object) { o["x-sdk"] = "create" }, "lower camel case"},
		"a word of Python":          {func(o, _ object) { o["x-sdk"] = "promptTemplates.import" }, "is reserved"},
		"a resource as a method": {func(o, _ object) { o["x-sdk"] = "promptTemplates.versions" },
			"both a method and a resource"},
		"a repeatable call with a key": {func(o, _ object) { o["x-repeatable"] = true }, "x-repeatable is only for"},
		"an unknown keyword": {func(_, c object) { c["New"] = object{"anyOf": []any{object{"type": "string"}}} },
			"do not support the keyword anyOf"},
		"a list of one type": {func(_, c object) { c["New"] = object{"type": []any{"string"}} },
			"must have a type and another one, or null"},
		"a type of several that is none": {func(_, c object) { c["New"] = object{"type": []any{"string", "date"}} },
			"the type date is not supported"},
		"a choice of schemas": {func(_, c object) {
			c["New"] = object{"oneOf": []any{object{"type": "string"}, object{"type": "integer"}}}
		}, "must be a schema and null"},
		"an array of anything": {func(_, c object) { c["New"] = object{"type": "array"} }, "needs items"},
		"a reference to nothing": {func(_, c object) { c["New"] = object{"$ref": "#/components/schemas/None"} },
			"there is no schema"},
		"an enum of numbers": {func(_, c object) { c["New"] = object{"type": "integer", "enum": []any{1}} },
			"only strings"},
		"an unknown header": {func(o, _ object) {
			o["parameters"] = []any{object{"name": "X-New", "in": "header", "schema": object{"type": "string"}}}
		}, "do not know the header X-New"},
		"a response that is not JSON": {func(o, _ object) {
			o["responses"] = object{"200": object{"content": object{"text/html": object{}}}}
		}, "can only read JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(changed(t, tt.change)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string][3]string{
		"apiKeys":                  {"APIKeys", "apiKeys", "api_keys"},
		"prompt_template_id":       {"PromptTemplateID", "promptTemplateId", "prompt_template_id"},
		"promptTemplates.versions": {"PromptTemplatesVersions", "promptTemplatesVersions", "prompt_templates_versions"},
		"APIKeyCreated":            {"APIKeyCreated", "apiKeyCreated", "api_key_created"},
		"accept_url":               {"AcceptURL", "acceptUrl", "accept_url"},
	} {
		if got := [3]string{goName(name), camel(name), snake(name)}; got != want {
			t.Errorf("names of %s: %v, want %v", name, got, want)
		}
	}
}
