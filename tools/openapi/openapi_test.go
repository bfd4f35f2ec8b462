package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/atrium-hq/atrium/test/support/require"
)

const common = `
openapi: 3.1.0
x-problems:
  malformed: {status: 400, title: Malformed}
  thing_not_found: {status: 404, title: Not found}
  gateway_error: {status: 502, title: Gateway error}
  scope_required: {status: 403, title: Scope required}
components:
  headers: {RequestId: {}, RateLimit: {}, RateLimitPolicy: {}, WorkspaceId: {}, ETag: {}, IdempotencyReplayed: {}}
  responses:
    BadRequest: {x-codes: [malformed]}
    PaymentGatewayFailed: {x-codes: [gateway_error]}
  examples: {Thing: {value: {}}}
`

const things = `
paths:
  /things/{id}:
    parameters: [{$ref: '#/components/parameters/WorkspaceId'}]
    get:
      x-access: {area: workspace, needs: viewer}
      x-scope: any
      x-codes: [thing_not_found, gateway_error]
      responses:
        '200': {description: The thing., schema: Thing, headers: [ETag]}
components:
  schemas: {Thing: {type: object}}
`

func built(t *testing.T, texts ...string) (map[string]any, error) {
	t.Helper()
	var parts []part
	for _, text := range texts {
		parts = append(parts, part{name: "part", text: []byte(text)})
	}
	var asJSON []byte
	document, err := join(parts)
	if err == nil {
		err = expand(document)
	}
	if err == nil {
		asJSON, err = toJSON(document)
	}
	if err != nil {
		return nil, err
	}
	var out map[string]any
	require.NoError(t, json.Unmarshal(asJSON, &out))
	return out, nil
}

func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func TestAnOperationGetsTheResponsesThatFollowFromIt(t *testing.T) {
	document, err := built(t, common, things)
	require.NoError(t, err)
	get := at(document, "paths", "/things/{id}", "get")
	for status, want := range map[string]string{
		"400": "BadRequest", "401": "Unauthorized", "404": "NotFound", "429": "TooManyRequests",
		"502": "PaymentGatewayFailed",
	} {
		if ref := at(get, "responses", status, "$ref"); ref != "#/components/responses/"+want {
			t.Errorf("%s is %v, want %s", status, ref, want)
		}
	}
	for _, status := range []string{"409", "412", "413", "422"} {
		if at(get, "responses", status) != nil {
			t.Errorf("%s does not follow from anything that the operation says", status)
		}
	}
	if codes, _ := at(get, "x-codes").([]any); !slices.Equal(codes, []any{"thing_not_found"}) {
		t.Errorf("x-codes = %v: those of shared responses are not repeated", codes)
	}
	for _, header := range []string{"Request-Id", "ETag", "Workspace-Id", "RateLimit", "RateLimit-Policy"} {
		if at(get, "responses", "200", "headers", header) == nil {
			t.Errorf("the success has no header %s", header)
		}
	}
	if at(get, "responses", "200", "headers", "Idempotency-Replayed") != nil {
		t.Error("an operation without an Idempotency-Key replays nothing")
	}
	media := at(get, "responses", "200", "content", "application/json")
	if at(media, "schema", "$ref") != "#/components/schemas/Thing" ||
		at(media, "examples", "Thing", "$ref") != "#/components/examples/Thing" {
		t.Errorf("the content is %v", media)
	}
}

func TestShortFormsOfParametersAndBodiesAreCompleted(t *testing.T) {
	document, err := built(t, common, `
paths:
  /things/{id}:
    parameters: [ThingId]
    post:
      parameters: [WorkspaceId, {name: dry, in: query}]
      requestBody: {schema: ThingCreate, examples: {one: {value: {}}}}
      x-access: {area: workspace}
      x-scope: any
      responses: {}
    patch:
      requestBody: {patch: ThingPatch, required: false}
      x-access: {area: workspace}
      x-scope: any
      responses: {}
`)
	require.NoError(t, err)
	item := at(document, "paths", "/things/{id}")
	for got, want := range map[string]string{
		fmt.Sprint(at(item, "parameters")): "[map[$ref:#/components/parameters/ThingId]]",
		fmt.Sprint(at(item, "post", "parameters")): "[map[$ref:#/components/parameters/WorkspaceId] map[in:query " +
			"name:dry]]",
		fmt.Sprint(at(item, "post", "requestBody")): "map[content:map[application/json:map[examples:map[one:map[value:map[]]] " +
			"schema:map[$ref:#/components/schemas/ThingCreate]]] required:true]",
		fmt.Sprint(at(item, "patch", "requestBody")): "map[content:map[application/json:map[schema:map[$ref:#/components/schemas/ThingPatch]] " +
			"application/merge-patch+json:map[schema:map[$ref:#/components/schemas/ThingPatch]]] required:false]",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if at(item, "post", "responses", "404", "$ref") == nil {
		t.Error("a parameter in the short form implies no response")
	}
}

func TestASchemaThatExtendsAnotherHasItsPropertiesToo(t *testing.T) {
	schemas := func(name string) string {
		return things + `
components:
  schemas:
    Small: {type: object, properties: {a: {type: string}}}
    Large: {type: object, x-extends: ` + name + `, properties: {b: {type: string}}}
`
	}
	document, err := built(t, common, schemas("Small"))
	require.NoError(t, err)
	if got, want := fmt.Sprint(at(document, "components", "schemas", "Large")),
		"map[properties:map[a:map[type:string] b:map[type:string]] type:object]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := built(t, common, schemas("None")); err == nil {
		t.Error("a schema can extend one that does not exist")
	}
}

func TestMistakesInPartsAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"a schema is defined twice": {"paths:", "openapi: 3.1.0\npaths:", "openapi is defined twice"},
		"a code is not registered":  {"gateway_error]", "no_such_code]", "x-codes has no_such_code"},
		"no one declares who can call": {"x-access: {area: workspace, needs: viewer}", "x-raw: true",
			"x-access is missing"},
		"an operation has no scope":      {"x-scope: any", "x-raw: true", "x-access has no scope"},
		"a header is not known":          {"headers: [ETag]", "headers: [Age]", "there is no header Age"},
		"a part is no mapping":           {things, "- a", "is not a mapping"},
		"a response is declared by hand": {"responses:\n", "no-responses:\n", "responses is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := built(t, common, strings.Replace(things, c.from, c.to, 1)); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	if _, err := join(nil); err == nil {
		t.Error("a folder without parts is no error")
	}
}

func TestJSONKeepsTheOrderAndLeavesOutWhatOnlyTheGeneratorReads(t *testing.T) {
	var root yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte("b: 2026-01-01\na: {x-go-name: B, c: [1, null, true]}\n"), &root))
	if got, err := toJSON(root.Content[0]); err != nil || string(got) != `{"b":"2026-01-01","a":{"c":[1,null,true]}}`+
		"\n" {
		t.Errorf("JSON = %s, %v", got, err)
	}
}

func TestWhatRequestsAreCheckedByIsReducedToWhatTheyNeed(t *testing.T) {
	content, err := checks([]byte(`{"paths": {"/things": {"parameters": [{"$ref": "#/components/parameters/Limit"}],
		"post": {"operationId": "create", "summary": "Creates.", "x-codes": ["taken"], "x-scope": "any",
			"requestBody": {"required": true, "content": {"application/json": {
				"schema": {"$ref": "#/components/schemas/Thing"}, "example": {}}}},
			"responses": {"201": {"description": "It."}, "400": {"$ref": "#/components/responses/Bad"}}}}},
		"components": {"parameters": {"Limit": {"name": "limit", "in": "query", "description": "How many.",
				"schema": {"type": "integer", "example": 20}}},
			"responses": {"Bad": {"description": "No.", "x-codes": ["malformed"]}},
			"schemas": {"Unused": {"type": "string"}, "Key": {"type": "string", "x-secret": true},
				"Thing": {"description": "A thing.", "properties": {"description": {"type": "string",
					"title": "Text"}, "key": {"$ref": "#/components/schemas/Key"},
					"parts": {"items": {"$ref": "#/components/schemas/Thing"}}}, "required": ["description"]}}},
		"x-problems": {"taken": {"status": 409}}}`))
	require.NoError(t, err)
	const want = `{"components":{"parameters":{"Limit":{"in":"query","name":"limit","schema":{"type":"integer"}}},` +
		`"schemas":{"Key":{"type":"string","x-secret":true},"Thing":{"properties":{"description":{"type":"string"},` +
		`"key":{"$ref":"#/components/schemas/Key"},"parts":{"items":{"$ref":"#/components/schemas/Thing"}}},` +
		`"required":["description"]}}},"paths":{"/things":{` +
		`"parameters":[{"$ref":"#/components/parameters/Limit"}],"post":{"operationId":"create",` +
		`"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}},` +
		`"required":true,"x-secret":true},"x-codes":["malformed","taken"],"x-scope":"any"}}},` +
		`"x-problems":{"taken":{"status":409}}}`
	if string(content) != want {
		t.Errorf("it is\n%s\ninstead of\n%s", content, want)
	}
}
