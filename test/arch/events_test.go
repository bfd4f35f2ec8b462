package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/test/support/require"
)

// eventType matches the type of an event: a noun, and a verb in the past tense.
var eventType = regexp.MustCompile(
	`^[a-z]+(_[a-z]+)*\.([a-z]+_)*([a-z]+ed|kept|lost|paid|signed_in|withdrawn|ending|expiring|failing)$|^source\.read$`)

func TestTheCatalogueHasEveryTypeOfEventThatIsRecordedAndNoOther(t *testing.T) {
	recordedTexts := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() || !strings.HasPrefix(s.path, "domain/") || s.path == "domain/event/catalogue.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if value, err := strconv.Unquote(lit.Value); err == nil && eventType.MatchString(value) {
					recordedTexts[value] = true
				}
			}
			return true
		})
	}
	if len(recordedTexts) < 100 {
		t.Fatalf("only %d types are recorded", len(recordedTexts))
	}
	for name := range recordedTexts {
		if event.SubjectType(name) == "" {
			t.Errorf("%s is recorded, and not in domain/event/catalogue.go", name)
		}
	}
	contract, err := openapi.Load()
	require.NoError(t, err)
	describedTexts := map[string]string{}
	for _, kind := range contract.EventTypes() {
		describedTexts[kind.Type] = kind.Subject
	}
	for _, name := range event.Types() {
		if !recordedTexts[name] {
			t.Errorf("%s is in the catalogue, and never recorded", name)
		}
		if describedTexts[name] != event.SubjectType(name) {
			t.Errorf("%s is about a %s, and about a %q in adapters/rest/openapi/spec/events.yaml", name,
				event.SubjectType(name), describedTexts[name])
		}
		delete(describedTexts, name)
	}
	for name := range describedTexts {
		t.Errorf("%s is in adapters/rest/openapi/spec/events.yaml, and not in domain/event/catalogue.go", name)
	}
}

func TestEveryTypeOfEventIsAsTheRuleOfNamesSays(t *testing.T) {
	for _, name := range event.Types() {
		if !eventType.MatchString(name) {
			t.Errorf("%s is not matched, so it would not be noticed if it were missing", name)
		}
	}
}
