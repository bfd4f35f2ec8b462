package e2e

import (
	_ "embed"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

// endpointList is the list of endpoints that Atrium was specified with: method, path, effect. It is
// part of the specification, so a difference is a defect of the code and never of the list.
//
//go:embed testdata/endpoints.tsv
var endpointList string

// specifiedEndpoints returns the method and path template of each specified endpoint.
func specifiedEndpoints(t *testing.T) [][2]string {
	t.Helper()
	var list [][2]string
	for line := range strings.Lines(endpointList) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			t.Fatalf("this line has no three columns: %s", line)
		}
		list = append(list, [2]string{columns[0], columns[1]})
	}
	if len(list) != 53 {
		t.Fatalf("the list has %d endpoints, not 53", len(list))
	}
	return list
}

func TestSpecifiedEndpoints(t *testing.T) {
	t.Parallel()
	specifiedTexts := specifiedEndpoints(t)

	t.Run("the contract has each specified endpoint with its method, path and parameter names", func(t *testing.T) {
		t.Parallel()
		out, err := exec.Command(binary, "openapi").Output()
		require.NoError(t, err)
		var contract struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		require.NoError(t, json.Unmarshal(out, &contract))
		for _, e := range specifiedTexts {
			if contract.Paths[e[1]][strings.ToLower(e[0])] == nil {
				t.Errorf("%s %s is not in the contract", e[0], e[1])
			}
		}
	})

	t.Run("a running server routes each specified endpoint", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite)
		parameter := regexp.MustCompile(`\{[a-z_]+\}`)
		for _, e := range specifiedTexts {
			// Without a credential, a known route returns 401, an unknown one 404 or 405. Plans are public.
			want := 401
			if e[1] == payments+"/plans" {
				want = 200
			}
			a := s.anonymous().do(t, e[0], parameter.ReplaceAllString(e[1], "x"), nil)
			if a.status != want {
				t.Errorf("%s %s returns %d without a credential, not %d", e[0], e[1], a.status, want)
			}
		}
	})

	t.Run("the spellings of v0.1.0 that differ from the specification are gone", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite)
		owner := s.user(t, "owner")
		owner.do(t, "PUT", payments+"/methods/pm_1/default", nil).problem(t, 405, "method_not_allowed")
		owner.do(t, "PUT", sources+"/src_1/mapping", object{}).problem(t, 404, "not_found")
		owner.do(t, "POST", chats+"/ctpl_1/workflows", object{"workflow_id": "hand-over"}).problem(t, 404, "not_found")
	})

	t.Run("no other path has the parameters of a specified path under other names", func(t *testing.T) {
		t.Parallel()
		names := map[string]string{} // by the path up to and including the parameter's position
		parameter := regexp.MustCompile(`^\{[a-z_]+\}$`)
		shape := func(path string, visit func(prefix, name string)) {
			prefix := ""
			for step := range strings.SplitSeq(path, "/") {
				if parameter.MatchString(step) {
					visit(prefix, step)
					step = "{}"
				}
				prefix += "/" + step
			}
		}
		for _, e := range specifiedTexts {
			shape(e[1], func(prefix, name string) { names[prefix] = name })
		}
		for _, op := range conformance.Contract(t).Operations() {
			shape(op.Path, func(prefix, name string) {
				if want := names[prefix]; want != "" && want != name {
					t.Errorf("%s %s calls the parameter %s, the specification %s", op.Method, op.Path, name, want)
				}
			})
		}
	})
}
