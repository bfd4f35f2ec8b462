package clients

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// operation is what the contract says about one call.
type operation struct {
	ID        string `json:"operationId"`
	SDK       string `json:"x-sdk"`
	Method    string `json:"-"`
	Path      string `json:"-"`
	Arguments []any  `json:"parameters"`
	Body      *struct {
		Content map[string]struct {
			Examples map[string]struct {
				Value any `json:"value"`
			} `json:"examples"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]any `json:"responses"`
}

// operations returns the operations that clients offer: those that only read first, and those that remove things last.
func operations(t *testing.T) (all []operation) {
	t.Helper()
	text, err := os.ReadFile("../../adapters/rest/openapi/openapi.gen.json")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	for path, item := range doc.Paths {
		for method, text := range item {
			var o operation
			if method == "parameters" {
				continue
			}
			require.NoError(t, json.Unmarshal(text, &o))
			if o.Method, o.Path = strings.ToUpper(method), path; o.SDK != "none" {
				all = append(all, o)
			}
		}
	}
	order := []string{"GET", "PUT", "POST", "PATCH", "DELETE"}
	slices.SortFunc(all, func(a, b operation) int {
		if d := slices.Index(order, a.Method) - slices.Index(order, b.Method); d != 0 {
			return d
		}
		return strings.Compare(a.SDK, b.SDK)
	})
	return all
}

// isStream reports whether o is a stream of events.
func (o operation) isStream() bool { return strings.HasSuffix(o.SDK, ".stream") }

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// command returns a call of o with an example of its body. ids are of things that exist; an operation that changes or
// removes other things gets an id of nothing, and must say so.
func (o operation) command(ids map[string]string) command {
	c := command{Do: "call", Name: o.SDK, HasBody: o.Body != nil}
	for _, found := range parameter.FindAllStringSubmatch(o.Path, -1) {
		id := ids[found[1]]
		if id == "" || o.Method == "DELETE" || strings.HasPrefix(o.SDK, "people.") {
			id = "of-nothing"
		}
		c.Args = append(c.Args, id)
	}
	if o.Body != nil {
		for _, example := range o.Body.Content["application/json"].Examples {
			c.Body = example.Value
			break
		}
	}
	c.HasQuery = strings.Contains(queries(o), "query")
	if o.isStream() {
		c.Options.Count = 1
	}
	if o.SDK == "events.stream" { // from the first event, since nothing else happens
		c.HasQuery, c.Query = true, object{"after": 0}
	}
	return c
}

// queries returns where the parameters of o are, without the cursor of lists.
func queries(o operation) string {
	var all []string
	for _, p := range o.Arguments {
		if p, ok := p.(object); ok {
			if ref, ok := p["$ref"].(string); ok && strings.HasSuffix(ref, "/Limit") {
				all = append(all, "query")
			}
			if in, ok := p["in"].(string); ok {
				all = append(all, in)
			}
		}
	}
	return strings.Join(all, " ")
}

// ofClients are codes of requests that no method of a client may send.
var ofClients = []string{"not_found", "method_not_allowed", "malformed_json", "malformed_request", "unknown_parameter",
	"not_acceptable", "unsupported_media_type", "unexpected_response"}

// TestEveryOperationCanBeCalled calls every operation of the contract with every client: each reaches its operation,
// with a body that the server can read, and the client understands the response.
func TestEveryOperationCanBeCalled(t *testing.T) {
	onEach(t, func(t *testing.T, w *world, d driver) {
		s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 60_000})
		me := s.must(t, command{Name: "me.get"}).Value.(object)
		ids := map[string]string{
			"user_id":            me["user"].(object)["id"].(string),
			"workspace_id":       me["workspace"].(object)["id"].(string),
			"presence_id":        "me",
			"prompt_template_id": s.must(t, create(newName())).at(t, "id"),
			"template_id": s.must(t, command{Name: "chatTemplates.create", HasBody: true,
				Body: object{"name": newName()}}).at(t, "id"),
			"api_key_id": s.must(t, command{Name: "apiKeys.create", HasBody: true,
				Body: object{"name": newName()}}).at(t, "id"),
		}
		s.revise(t, ids["prompt_template_id"], "Hello {{name}}")
		ids["version_id"] = "v1"
		succeededCount := 0
		for _, o := range operations(t) {
			s.requests()
			r := s.driver.do(t, o.command(ids), nil)
			path := regexp.MustCompile("^" + parameter.ReplaceAllString(strings.ReplaceAll(o.Path, ".", `\.`), "[^/]+") + "$")
			if all := s.requests(); len(all) == 0 || all[0].method != o.Method || !path.MatchString(all[0].path) {
				t.Errorf("%s sent %v, want %s %s", o.SDK, all, o.Method, o.Path)
			}
			switch {
			case r.Error == nil:
				succeededCount++
			case r.Error.Kind != "api" || slices.Contains(ofClients, r.Error.Code):
				t.Errorf("%s failed: %+v", o.SDK, *r.Error)
			}
		}
		t.Logf("%d of %d calls succeeded", succeededCount, len(operations(t)))
		if succeededCount < 45 {
			t.Errorf("only %d calls succeeded", succeededCount)
		}
	})
}
