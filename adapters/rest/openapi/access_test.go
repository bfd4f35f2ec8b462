package openapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// Public operations read neither query nor Accept, and count no calls.
func TestPublicOperations(t *testing.T) {
	answers := map[string][]string{
		"getLiveness":  {"200"}, // any host will do
		"getReadiness": {"200", "503"},
		"getOpenAPI":   {"200", "304", "421", "429"},
		"getDocs":      {"200", "421", "429"},
		"getProblem":   {"200", "404", "421"},

		"receivePaymentEvent": {"200", "400", "404", "413", "429", "500", "503"}, // any host will do

		"getSignInMethods": {"200", "421"},
		"beginSignIn":      {"303", "400", "403", "404", "421", "429", "502"},
		"finishSignIn":     {"303", "400", "401", "403", "421", "429", "500", "502", "503", "504"},
		"receiveLogout":    {"200", "400", "406", "413", "415", "421", "422", "429", "500", "503", "504"},
		"previewInvitation": {"200", "400", "403", "404", "406", "413", "415", "421", "422", "429", "500",
			"503", "504"},
		"joinByInvitation": {"201", "400", "403", "404", "406", "409", "413", "415", "421", "422", "429", "500", "503",
			"504"},
		"mailSignInLink": {"202", "400", "403", "406", "409", "413", "415", "421", "422", "429"},
		"previewSignInLink": {"200", "400", "401", "403", "406", "413", "415", "421", "422", "429", "500", "503",
			"504"},
		"reportLeakedKeys": {"204", "400", "406", "413", "415", "421", "422", "429", "500", "503", "504"},
		"openSession": {"201", "400", "401", "403", "406", "413", "415", "421", "422", "429", "500", "503",
			"504"},
		"getPasskeySignInOptions": {"200", "400", "403", "406", "409", "421"},
		"signInWithPasskey": {"201", "400", "401", "403", "406", "409", "413", "415", "421", "422", "429", "500", "503",
			"504"},

		"getEmbedScript": {"200", "304", "421", "429"},
	}
	declared(t, document(t), func(t *testing.T, o *openapi.Operation, d object) {
		want, public := answers[o.ID]
		area := o.Access.Area
		if area == "embed" || area == "anyone" { // who calls shows something else than a credential of ours, or may
			return
		}
		if security, ok := d["security"].([]any); ok != public || len(security) > 0 {
			t.Fatalf("security = %v", d["security"])
		}
		if got := slices.Sorted(maps.Keys(d["responses"].(object))); public && !slices.Equal(got, want) {
			t.Errorf("it answers %v, want %v", got, want)
		}
	})
}

func TestAccess(t *testing.T) {
	roles := map[string][]string{
		"prompt_template": {"viewer", "editor", "manager", "owner"},
		"chat_template":   {"viewer", "editor", "manager", "owner"},
		"workspace":       {"viewer", "member", "admin", "owner"},
		"presence":        {"viewer", "owner"},
		"embed":           {""},
		"operator":        {""},
		"self":            {""},
		"anyone":          {""},
		"public":          {""},
	}
	declared(t, document(t), func(t *testing.T, o *openapi.Operation, d object) {
		said, _ := d["x-access"].(object)
		if said == nil {
			t.Fatal("x-access is missing")
		}
		area, _ := said["area"].(string)
		needs, _ := said["needs"].(string)
		if want := (openapi.Access{Area: area, Needs: needs}); o.Access != want {
			t.Errorf("access = %+v, want %+v", o.Access, want)
		}
		for name := range said {
			if name != "area" && name != "needs" {
				t.Errorf("%s is not a part of x-access", name)
			}
		}
		if !slices.Contains(roles[area], needs) {
			t.Errorf("%q is not a role in %q", needs, area)
		}
		open := []string{"public", "embed", "anyone"}
		if asksNobody := d["security"] != nil; asksNobody != slices.Contains(open, area) {
			t.Errorf("the area is %s, and security = %v", area, d["security"])
		}
		for parameter, owner := range map[string]string{"{prompt_template_id}": "prompt_template",
			"{template_id}": "chat_template", "{presence_id}": "presence"} {
			if strings.Contains(o.Path, parameter) != (area == owner) {
				t.Errorf("the area is %s", area)
			}
		}
	})
}

func TestScopes(t *testing.T) {
	existing := append(identity.AllScopes(), identity.AnyScope)
	declared(t, document(t), func(t *testing.T, o *openapi.Operation, d object) {
		isOpen := o.Access.Area == "public" || o.Access.Area == "embed"
		said, _ := d["x-scope"].(string)
		if o.Scope != identity.Scope(said) {
			t.Errorf("the scope is %q, want %q", o.Scope, said)
		}
		if isOpen != (o.Scope == "") {
			t.Errorf("the area is %s, and the scope %q", o.Access.Area, o.Scope)
		}
		if !isOpen && !slices.Contains(existing, o.Scope) {
			t.Errorf("%q is not a scope", o.Scope)
		}
		needsOne := !isOpen && o.Scope != identity.AnyScope
		if needsOne != slices.Contains(o.Codes, "scope_required") {
			t.Errorf("the scope is %q, the codes %q", o.Scope, o.Codes)
		}
	})
	t.Run("the document lists all of them", func(t *testing.T) {
		schemas := document(t)["components"].(object)["schemas"].(object)
		var scopes []identity.Scope
		for _, name := range schemas["APIKeyScope"].(object)["enum"].([]any) {
			scopes = append(scopes, identity.Scope(name.(string)))
		}
		assert.EqualSlice(t, "it lists", scopes, identity.AllScopes())
	})
}
