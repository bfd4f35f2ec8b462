package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// may lists, for each layer, the layers it may import.
var may = map[string][]string{
	"domain":      {"domain"},
	"ports":       {"domain"},
	"application": {"domain", "ports"},
	"adapters":    {"domain", "ports"},
	"configs":     {"domain", "adapters"},
	"cmd":         {"domain", "ports", "application", "adapters", "configs", "cmd", "clients", "web"},
}

// inbound lists the adapters that call the application. It calls the others.
var inbound = []string{"rest", "scim", "worker"}

// root is the package that composes the areas of the application.
const root = "application"

// pure lists the modules that the inner layers may import, because they do no I/O.
var pure = map[string]string{
	"github.com/google/uuid":         "identifiers are UUIDv7",
	"github.com/cenkalti/backoff/v5": "calls to a gateway are retried; it does nothing but wait",
	"github.com/cbroglie/mustache": "prompts are Mustache templates; partials, its one way to a file, " +
		"are refused before",
	"github.com/aymanbagabas/go-udiff": "versions of a prompt are compared as unified diffs",
	"github.com/santhosh-tekuri/jsonschema/v6": "configurations and credentials are held to JSON Schemas; its one " +
		"way to a file, the loader, is replaced",
	"github.com/sony/gobreaker/v2":   "reads of a gateway that does not answer stop waiting; it only counts",
	"golang.org/x/sync/singleflight": "concurrent reads of one thing share a call; it only waits",
	"golang.org/x/net/idna": "origins are compared in the form that browsers give them; the " +
		"standard library knows no IDNA",
	"golang.org/x/text/unicode/norm": "names are stored in one form, and columns compared without accents; its " +
		"tables are data",
	"go.yaml.in/yaml/v3":                "files of prompts have their settings as YAML; it reads and writes bytes",
	"github.com/mozillazg/go-unidecode": "slugs are made of names in any alphabet; its tables are data",
	"golang.org/x/net/publicsuffix":     "a wildcard above everybody's names is refused; the list of such hosts is data",
}

// objection returns why the package in directory from must not import imp, or "" if it may.
func objection(from, imp string) string {
	target, ours := strings.CutPrefix(imp, module)
	local, other := strings.Split(from, "/"), strings.Split(target, "/")
	layer := local[0]
	allowances, isChecked := may[layer]
	switch {
	case !isChecked: // test/ and other directories that are no layer
		return ""
	case !ours:
		inner := layer == "domain" || layer == "ports" || layer == "application"
		if inner && strings.Contains(other[0], ".") && !isPure(imp) {
			return "the inner layers import the standard library and pure modules alone"
		}
		return ""
	case target == "ports/mocks":
		return "mocks are for tests"
	case crossesInternal(from, target):
		return "what is below internal/ is for the folder that holds it"
	case layer == "adapters" && other[0] == "adapters":
		if local[1] != other[1] {
			return "adapters never import each other: what two need is a port, or a func that cmd hands over"
		}
		return objectionInside(from, target)
	case from == root && other[0] == root:
		return "" // the composition of all areas
	case layer == root && other[0] == root:
		return "areas of the application never import each other: what two need is a port, or a func that the root " +
			"passes"
	case layer == "adapters" && other[0] == "application" && slices.Contains(inbound, local[1]):
		return ""
	case !slices.Contains(allowances, other[0]):
		return fmt.Sprintf("%s may import %s alone", layer, strings.Join(allowances, ", "))
	}
	return ""
}

// crossesInternal reports whether target is below an internal folder that is not for from.
func crossesInternal(from, target string) bool {
	holder, _, internal := strings.Cut("/"+target+"/", "/internal/")
	return internal && !strings.HasPrefix("/"+from+"/", holder+"/")
}

func isPure(imp string) bool {
	for m := range pure {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return true
		}
	}
	return false
}

func TestArrows(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.dir() == "ports/mocks" {
			continue
		}
		for _, spec := range s.file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if reason := objection(s.dir(), imp); reason != "" {
				t.Errorf("%s imports %s: %s", s.path, imp, reason)
			}
		}
	}
}

// TestAreasMeetInTheRootOfTheApplication checks that only the root imports all areas, and that no one else composes use
// cases: an area that is added there is known to the API, to jobs and to commands.
func TestAreasMeetInTheRootOfTheApplication(t *testing.T) {
	areas := map[string]bool{}
	imports := map[string]map[string]bool{} // areas, by importing package
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if strings.HasPrefix(s.dir(), root+"/") {
			areas[s.dir()] = true
			continue
		}
		if imports[s.dir()] == nil {
			imports[s.dir()] = map[string]bool{}
		}
		importedTexts := areasOf(t, s)
		for _, area := range importedTexts {
			imports[s.dir()][area] = true
		}
		if s.dir() != root {
			for _, name := range constructors(s.file, importedTexts) {
				t.Errorf("%s calls %s: only the package application composes use cases", s.path, name)
			}
		}
	}
	if len(areas) < 7 {
		t.Fatalf("only %d areas found", len(areas))
	}
	for dir, importedTexts := range imports {
		if all := len(importedTexts) == len(areas); all != (dir == root) {
			t.Errorf("%s imports %d of %d areas: only the package application imports all", dir,
				len(importedTexts), len(areas))
		}
	}
}

// areasOf returns the areas of the application that s imports, by local name.
func areasOf(t *testing.T, s source) map[string]string {
	t.Helper()
	areas := map[string]string{}
	for _, spec := range s.file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		area, ours := strings.CutPrefix(imp, module)
		if !ours || !strings.HasPrefix(area, root+"/") {
			continue
		}
		local := path.Base(area)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		areas[local] = area
	}
	return areas
}

// constructors returns the calls of functions New… of areas.
func constructors(f *ast.File, areas map[string]string) (calls []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fun, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(fun.Sel.Name, "New") {
				if pkg, ok := fun.X.(*ast.Ident); ok && areas[pkg.Name] != "" {
					calls = append(calls, pkg.Name+"."+fun.Sel.Name)
				}
			}
		}
		return true
	})
	return calls
}

func TestConstructors(t *testing.T) {
	areas := map[string]string{"prompts": "application/prompts"}
	for body, want := range map[string]int{
		"prompts.NewService(nil)":   1,
		"_ = prompts.Wanted{}":      0,
		"other.NewService(nil)":     0,
		"s.prompts.NewService(nil)": 0,
	} {
		t.Run(body, func(t *testing.T) {
			s := parse(t, "x.go", []byte("package x\nfunc f() { "+body+" }\n"))
			if got := constructors(s.file, areas); len(got) != want {
				t.Errorf("constructors = %v", got)
			}
		})
	}
}

func TestObjection(t *testing.T) {
	const refused, allowed = true, false
	for _, tt := range []struct {
		from, imp string
		want      bool
	}{
		{"domain/prompt", "strings", allowed},
		{"domain/prompt", module + "domain/page", allowed},
		{"domain/id", "github.com/google/uuid", allowed},
		{"domain/id", "github.com/google/uuid/v9", allowed},
		{"domain/id", "github.com/google/uuidlike", refused},
		{"domain/prompt", "github.com/jmoiron/sqlx", refused},
		{"domain/prompt", module + "ports", refused},
		{"ports", module + "domain/prompt", allowed},
		{"ports", module + "adapters/seal", refused},
		{"ports", "github.com/gorilla/mux", refused},
		{"application/prompts", module + "ports", allowed},
		{"application/prompts", module + "ports/mocks", refused},
		{"application/prompts", module + "application/accounts", refused},
		{"application/prompts", module + "adapters/sqlstore", refused},
		{"application/prompts", module + "application", refused},
		{"application", module + "application/prompts", allowed},
		{"application", module + "ports", allowed},
		{"application", module + "adapters/sqlstore", refused},
		{"adapters/sqlstore", "github.com/jmoiron/sqlx", allowed},
		{"adapters/sqlstore", module + "ports", allowed},
		{"adapters/sqlstore", module + "application/prompts", refused},
		{"adapters/sqlstore", module + "adapters/seal", refused},
		{"adapters/sqlstore", module + "configs", refused},
		{"adapters/rest", module + "application/prompts", allowed},
		{"adapters/rest", module + "adapters/rest/openapi", allowed},
		{"adapters/rest", module + "adapters/rest/prompts", allowed},
		{"adapters/rest/prompts", module + "adapters/rest/server", allowed},
		{"adapters/rest/prompts", module + "adapters/rest/openapi/nullable", allowed},
		{"adapters/rest/prompts", module + "adapters/rest/chats", refused},
		{"adapters/rest/prompts", module + "adapters/rest", refused},
		{"adapters/rest/server", module + "adapters/rest/convert", allowed},
		{"adapters/rest/server", module + "adapters/rest/prompts", refused},
		{"adapters/rest/convert", module + "adapters/rest/server", refused},
		{"adapters/rest/openapi", module + "adapters/rest/convert", refused},
		{"adapters/rest/openapi", module + "adapters/sqlstore", refused},
		{"adapters/warehouse/mysql", module + "adapters/warehouse", allowed},
		{"adapters/worker", module + "application/prompts", allowed},
		{"adapters/worker", module + "adapters/sqlstore", refused},
		{"adapters/rest", module + "application", allowed},
		{"adapters/worker", module + "application", allowed},
		{"adapters/worker", module + "adapters/rest", refused},
		{"adapters/sqlstore", module + "application", refused},
		{"adapters/sqlstore", module + "adapters/sqlstore/internal/rows", allowed},
		{"adapters/warehouse/mysql", module + "adapters/warehouse/internal/rows", allowed},
		{"adapters/sqlstore", module + "adapters/sqlstore/prompts", allowed},
		{"adapters/sqlstore/prompts", module + "adapters/sqlstore/db", allowed},
		{"adapters/sqlstore/prompts", module + "adapters/sqlstore/payments", refused},
		{"adapters/sqlstore/prompts", module + "adapters/sqlstore", refused},
		{"adapters/sqlstore/db", module + "adapters/sqlstore/engine", allowed},
		{"adapters/sqlstore/db", module + "adapters/sqlstore/prompts", refused},
		{"adapters/sqlstorage", module + "adapters/sqlstore/internal/rows", refused},
		{"cmd/atrium", module + "cmd/atrium/internal/node", allowed},
		{"cmd/atrium/internal/demo", module + "cmd/atrium/internal/node", allowed},
		{"cmd/atrium", module + "adapters/sqlstore/internal/rows", refused},
		{"configs", module + "adapters/rest", allowed},
		{"configs", module + "application/prompts", refused},
		{"cmd/atrium", module + "configs", allowed},
		{"cmd/atrium", module + "test/support/fixture", refused},
		{"test/support/contract", module + "ports", allowed},
	} {
		name := tt.from + " may import " + tt.imp
		if tt.want == refused {
			name = tt.from + " must not import " + tt.imp
		}
		t.Run(name, func(t *testing.T) {
			if reason := objection(tt.from, tt.imp); (reason != "") != tt.want {
				t.Errorf("objection = %q", reason)
			}
		})
	}
}
