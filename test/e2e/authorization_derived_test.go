package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

// things are the things of the workspace that requests need not create, by the paths that name them.
var things = map[string]func(*testWorkspace) string{
	"/api/workspaces/{workspace_id}":             func(h *testWorkspace) string { return h.workspace },
	"/api/prompt-templates/{prompt_template_id}": func(h *testWorkspace) string { return h.template },
	"/api/chat-templates/{template_id}":          func(h *testWorkspace) string { return h.chat },
	"/api/connections/{connection_id}":           func(h *testWorkspace) string { return h.connection },
	"/api/datasources/{source_id}":               func(h *testWorkspace) string { return h.source },
	"/api/people/{user_id}":                      func(h *testWorkspace) string { return h.person },
}

// exampleOf returns the example of an operation. Without a row in examples, it is the request that openapi.yaml shows,
// on the thing of the workspace that the path names. It is false for operations that need a row: those that delete, and
// those of other things.
func exampleOf(t *testing.T, op *openapi.Operation) (example, bool) {
	t.Helper()
	if row, ok := examples[op.ID]; ok {
		return row, true
	}
	prefix, rest, hasThing := strings.Cut(op.Path, "}")
	thing, isOurs := things[prefix+"}"]
	if op.Method == "DELETE" || (hasThing && !isOurs) || strings.Contains(rest, "{") {
		return example{}, false
	}
	body := bodyShown(t, op)
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		if !hasThing {
			return target{body: body}
		}
		return target{ids: []string{thing(h)}, body: body}
	}}, true
}

// bodyShown returns the first example of a body that an operation requires; nil if it requires none.
func bodyShown(t *testing.T, op *openapi.Operation) any {
	t.Helper()
	if !op.BodyRequired {
		return nil
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	var operation struct {
		RequestBody struct {
			Content map[string]struct {
				Examples map[string]struct{ Value any }
			}
		}
	}
	require.NoError(t, json.Unmarshal(conformance.Contract(t).JSON(), &document))
	require.NoError(t, json.Unmarshal(document.Paths[op.Path][strings.ToLower(op.Method)], &operation))
	bodies := operation.RequestBody.Content["application/json"].Examples
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		return bodies[name].Value
	}
	return nil
}
