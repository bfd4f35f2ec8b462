package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
      tags: [others]
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
	if err != nil {
		t.Fatal(err)
	}
	item, open := at(document, "paths", "/things/{thing_id}/revisions/{revision}"), at(document, "paths",
		"/api/workspaces", "post")
	get, patch := at(item, "get"), at(item, "patch")
	put := at(document, "paths", "/api/workspaces", "put")
	success := at(get, "responses", "200", "content")
	opened := at(open, "responses", "200")
	ref := func(name string) string { return "map[$ref:#/components/" + name + "]" }
	for _, c := range []struct{ got, want any }{
		{at(item, "parameters"), "[" + ref("parameters/ThingId") + " " + ref("parameters/OtherRevision") + "]"},
		{at(get, "tags"), "[things]"},
		{at(patch, "tags"), "[others]"},
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
		{at(opened, "headers"), "map[ETag:" + ref("headers/ETag") + " Request-Id:" + ref("headers/RequestId") + "]"},
		{at(opened, "content", "application/json", "examples"),
			"map[Thing:" + ref("examples/Thing") + " Thing2:" + ref("examples/Thing2") + "]"},
		{at(put, "parameters"), nil},
		{at(document, "x-code-lists"), nil},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// TestAnOperationOfTheContractTakesSeventeenLinesOnAverage counts the lines of each operation, with its description
// and its examples: -v prints the average and the median.
func TestAnOperationOfTheContractTakesSeventeenLinesOnAverage(t *testing.T) {
	files, err := filepath.Glob("../../adapters/rest/openapi/spec/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`^    (get|post|put|patch|delete|head|options):$`)
	outside := regexp.MustCompile(`^ {0,4}\S`)
	var lengths []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inside := false
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimRight(line, "\n"); {
			case method.MatchString(line):
				inside = true
				lengths = append(lengths, 1)
			case outside.MatchString(line):
				inside = false
			case inside:
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
	if average > 17.2 {
		t.Errorf("an operation takes %.1f lines on average", average)
	}
}
