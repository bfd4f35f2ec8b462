package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnOperationGetsWhatIsTheSameForAllOfItsKind(t *testing.T) {
	document, err := built(t, strings.Replace(common, "  examples:", `  parameters:
    ThingId: {name: thing_id, in: path}
    OneRevision: {name: revision, in: path}
    OtherRevision: {name: revision, in: path}
  examples:`, 1), `
x-tags: [things]
x-code-lists: {thing_failures: [thing_not_found]}
paths:
  /things/{thing_id}/revisions/{revision}:
    parameters: [OtherRevision]
    get:
      summary: Get a thing
      description: |
        Returns it.
      query:
        deep: {description: 'Whether its parts are returned, too.', required: true, type: boolean, default: false}
      x-access: {area: workspace, needs: viewer, scope: things:read}
      x-codes: [malformed, thing_failures]
      responses:
        '200': {description: 'The thing, with its parts.', headers: [ETag], schema: Thing, content: {text/plain: {}}}
    patch:
      summary: Change a thing
      requestBody: {patch: ThingPatch, examples: {one: {value: {}}}}
      x-access: {area: self, scope: any}
      responses: {'204': NoContent}
  /api/workspaces:
    post:
      summary: Open
      x-access: {area: public}
      responses: {'200': {description: Done., schema: Thing, examples: [Thing, Thing2], headers: [ETag]}, errors: [400]}
    put:
      x-access: {area: workspace, scope: any}
      responses: {}
`)
	require.NoError(t, err)
	item, open := at(document, "paths", "/things/{thing_id}/revisions/{revision}"), at(document, "paths",
		"/api/workspaces", "post")
	get, patch := at(item, "get"), at(item, "patch")
	put := at(document, "paths", "/api/workspaces", "put")
	success := at(get, "responses", "200", "content")
	value := at(open, "responses", "200")
	ref := func(name string) string { return "map[$ref:#/components/" + name + "]" }
	for _, c := range []struct{ got, want any }{
		{at(item, "parameters"), "[" + ref("parameters/ThingId") + " " + ref("parameters/OtherRevision") + "]"},
		{at(get, "tags"), "[things]"},
		{at(patch, "tags"), "[things]"},
		{at(get, "description"), "Returns it."},
		{at(get, "parameters"), "[" + ref("parameters/WorkspaceId") + " " + ref("parameters/IfNoneMatch") +
			" map[description:Whether its parts are returned, too. in:query name:deep required:true " +
			"schema:map[default:false type:boolean]]]"},
		{at(get, "x-access"), "map[area:workspace needs:viewer]"},
		{at(get, "x-scope"), "things:read"},
		{at(success, "text/plain"), "map[]"},
		{at(success, "application/json", "schema"), ref("schemas/Thing")},
		{at(get, "responses", "404"), ref("responses/NotFound")},
		{at(get, "x-codes"), "[thing_not_found scope_required]"},
		{at(patch, "parameters"), "[" + ref("parameters/IfMatch") + "]"},
		{at(patch, "responses", "204"), ref("responses/NoContent")},
		{at(open, "security"), "[]"},
		{at(open, "x-codes"), "[]"},
		{at(open, "parameters"), nil},
		{at(open, "responses", "400"), ref("responses/BadRequest")},
		{at(open, "responses", "401"), nil},
		{at(value, "headers"), "map[ETag:" + ref("headers/ETag") + " Request-Id:" + ref("headers/RequestId") + "]"},
		{at(value, "content", "application/json", "examples"),
			"map[Thing:" + ref("examples/Thing") + " Thing2:" + ref("examples/Thing2") + "]"},
		{at(put, "parameters"), nil},
		{at(document, "x-code-lists"), nil},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func TestTheTagOfAnOperationFollowsFromTheNamesInItsPath(t *testing.T) {
	const part = `
x-tags: {things: [things], parts: [parts, spare-parts]}
paths:
  /api/things/{parts}: {get: {x-access: {area: public}, responses: {}}}
  /api/things/{thing_id}/parts/{part_id}/weight: {get: {x-access: {area: public}, responses: {}}}
  /api/spare-parts: {get: {x-access: {area: public}, responses: {}}}
  /parts/things: {get: {x-access: {area: public}, responses: {}}}
`
	document, err := built(t, common, part)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/api/things/{parts}": "[things]", "/api/things/{thing_id}/parts/{part_id}/weight": "[parts]",
		"/api/spare-parts": "[parts]", "/parts/things": "[things]",
	} {
		if got := fmt.Sprint(at(document, "paths", path, "get", "tags")); got != want {
			t.Errorf("%s has the tags %s, want %s", path, got, want)
		}
	}
	_, err = built(t, common, strings.Replace(part, "/api/spare-parts", "/api/tools", 1))
	if err == nil || !strings.Contains(err.Error(), "x-tags lists no name in /api/tools") {
		t.Errorf("a path without a listed name: %v", err)
	}
}

func TestTheNameOfAMethodOfTheClientsFollowsFromThePathAndTheOperation(t *testing.T) {
	for _, c := range []struct{ path, operation, want string }{
		{"/api/prompt-templates", "operationId: listPromptTemplates", "promptTemplates.list"},
		{"/api/prompt-templates/{id}/versions/{v}", "operationId: getVersion", "promptTemplates.versions.get"},
		{"/api/connections/{id}/verify", "operationId: verifyConnection", "connections.verify"},
		{"/api/two-word-names/{id}", "operationId: eraseName", "twoWordNames.erase"},
		{"/api/me", "operationId: getMe, x-sdk: own.name", "own.name"},
		{"/api/docs", "operationId: getDocs, x-sdk: none", "none"},
	} {
		document, err := built(t, common,
			`paths: {"`+c.path+`": {get: {`+c.operation+`, x-access: {area: public}, responses: {}}}}`)
		require.NoError(t, err)
		if got := at(document, "paths", c.path, "get", "x-sdk"); got != c.want {
			t.Errorf("%s, %s: the method is %v, want %s", c.path, c.operation, got, c.want)
		}
	}
}

// TestAnOperationOfTheContractTakesSixteenLinesOnAverage counts the lines of each operation, with its description
// and its examples: -v prints the average and the median.
func TestAnOperationOfTheContractTakesSixteenLinesOnAverage(t *testing.T) {
	files, err := filepath.Glob("../../adapters/rest/openapi/spec/*.yaml")
	require.NoError(t, err)
	method := regexp.MustCompile(`^    (get|post|put|patch|delete|head|options):$`)
	foreign := regexp.MustCompile(`^ {0,4}\S`)
	var lengths []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		isInside := false
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimRight(line, "\n"); {
			case method.MatchString(line):
				isInside = true
				lengths = append(lengths, 1)
			case foreign.MatchString(line):
				isInside = false
			case isInside:
				lengths[len(lengths)-1]++
			}
		}
	}
	sum := 0
	for _, n := range lengths {
		sum += n
	}
	if len(lengths) == 0 {
		t.Fatal("the contract has no operations")
	}
	slices.Sort(lengths)
	average := float64(sum) / float64(len(lengths))
	t.Logf("%d operations of %.1f lines on average; the median is %d", len(lengths), average, lengths[len(lengths)/2])
	if average > 16.4 {
		t.Errorf("an operation takes %.1f lines on average", average)
	}
}
