package arch

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// eventType matches the type of an event: a noun, and a verb in the past tense.
var eventType = regexp.MustCompile(
	`^[a-z]+(_[a-z]+)*\.([a-z]+_)*([a-z]+ed|lost|paid|signed_in|withdrawn|ending|expiring)$|^source\.read$`)

func TestOpenAPIListsEveryTypeOfEvent(t *testing.T) {
	text, err := os.ReadFile("../../adapters/rest/openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "operationId: listEvents")
	description, _, ends := strings.Cut(rest, "parameters:")
	if !found || !ends {
		t.Fatal("openapi.yaml does not describe the events")
	}
	listed := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z_]+\\.[a-z_]+)`").FindAllStringSubmatch(description, -1) {
		listed[name[1]] = true
	}
	recorded := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() || !strings.HasPrefix(s.path, "domain/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if value, err := strconv.Unquote(lit.Value); err == nil && eventType.MatchString(value) {
					recorded[value] = true
				}
			}
			return true
		})
	}
	if len(recorded) < 30 {
		t.Fatalf("only %d types are recorded", len(recorded))
	}
	for name := range recorded {
		if !listed[name] {
			t.Errorf("%s is recorded, and not listed", name)
		}
	}
	for name := range listed {
		if !recorded[name] {
			t.Errorf("%s is listed, and never recorded", name)
		}
	}
}
