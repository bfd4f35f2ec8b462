package arch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// may lists, for each layer, the layers it may import.
var may = map[string][]string{
	"domain":      {"domain"},
	"ports":       {"domain"},
	"application": {"domain", "ports"},
	"adapters":    {"domain", "ports"},
	"configs":     {"domain", "adapters"},
	"cmd":         {"domain", "ports", "application", "adapters", "configs"},
}

// inbound lists the adapters that call the application. It calls the others.
var inbound = []string{"rest", "worker"}

// pure lists the modules that the inner layers may import, because they do no I/O.
var pure = map[string]string{
	"github.com/google/uuid":                   "identifiers are UUIDv7",
	"github.com/cbroglie/mustache":             "prompts are Mustache templates; partials, its one way to a file, are refused before",
	"github.com/aymanbagabas/go-udiff":         "versions of a prompt are compared as unified diffs",
	"github.com/santhosh-tekuri/jsonschema/v6": "configurations and credentials are held to JSON Schemas; its one way to a file, the loader, is replaced",
	"golang.org/x/net/idna":                    "origins are compared in the form that browsers give them; the standard library knows no IDNA",
	"golang.org/x/text/unicode/norm":           "names are stored in one form, and columns compared without accents; its tables are data",
	"golang.org/x/net/publicsuffix":            "a wildcard above everybody's names is refused; the list of such hosts is data",
}

// objection returns why the package in directory from must not import imp, or "" if it may.
func objection(from, imp string) string {
	path, ours := strings.CutPrefix(imp, module)
	here, there := strings.Split(from, "/"), strings.Split(path, "/")
	layer := here[0]
	allowed, checked := may[layer]
	switch {
	case !checked: // test/ and other directories that are no layer
		return ""
	case !ours:
		inner := layer == "domain" || layer == "ports" || layer == "application"
		if inner && strings.Contains(there[0], ".") && !isPure(imp) {
			return "the inner layers import the standard library and pure modules alone"
		}
		return ""
	case path == "ports/mocks":
		return "mocks are for tests"
	case layer == "adapters" && there[0] == "adapters":
		if here[1] != there[1] {
			return "adapters never import each other: what two need is a port, or a func that cmd hands over"
		}
		return ""
	case layer == "application" && there[0] == "application":
		return "areas of the application never import each other: what two need is a port"
	case layer == "adapters" && there[0] == "application" && slices.Contains(inbound, here[1]):
		return ""
	case !slices.Contains(allowed, there[0]):
		return fmt.Sprintf("%s may import %s alone", layer, strings.Join(allowed, ", "))
	}
	return ""
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
			if err != nil {
				t.Fatal(err)
			}
			if why := objection(s.dir(), imp); why != "" {
				t.Errorf("%s imports %s: %s", s.path, imp, why)
			}
		}
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
		{"adapters/sqlstore", "github.com/jmoiron/sqlx", allowed},
		{"adapters/sqlstore", module + "ports", allowed},
		{"adapters/sqlstore", module + "application/prompts", refused},
		{"adapters/sqlstore", module + "adapters/seal", refused},
		{"adapters/sqlstore", module + "configs", refused},
		{"adapters/rest", module + "application/prompts", allowed},
		{"adapters/rest", module + "adapters/rest/openapi", allowed},
		{"adapters/rest/openapi", module + "adapters/sqlstore", refused},
		{"adapters/warehouse/mysql", module + "adapters/warehouse", allowed},
		{"adapters/worker", module + "application/prompts", allowed},
		{"adapters/worker", module + "adapters/sqlstore", refused},
		{"configs", module + "adapters/rest", allowed},
		{"configs", module + "application/prompts", refused},
		{"cmd/atrium", module + "configs", allowed},
		{"cmd/atrium", module + "test/fixture", refused},
		{"test/contract", module + "ports", allowed},
	} {
		name := tt.from + " may import " + tt.imp
		if tt.want == refused {
			name = tt.from + " must not import " + tt.imp
		}
		t.Run(name, func(t *testing.T) {
			if why := objection(tt.from, tt.imp); (why != "") != tt.want {
				t.Errorf("objection = %q", why)
			}
		})
	}
}
