package e2e

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
)

// testScopes expects that a key with all scopes but the one of op is refused, and that a key with only that scope is
// not, for the caller who may do most.
func (h *testWorkspace) testScopes(t *testing.T, op *openapi.Operation, example example) {
	t.Helper()
	if op.Scope == "" || op.Scope == identity.AnyScope {
		return
	}
	limit := h.mostAllowed(op)
	if limit == nil {
		return // no API key can call it
	}
	var others []string
	for _, s := range identity.AllScopes() {
		if !s.Includes(op.Scope) {
			others = append(others, string(s))
		}
	}
	other, extra := h.scoped(t, limit, others...), h.scoped(t, limit, string(op.Scope))
	a := other.callBy(t, op.Method, op, example.make(t, h, limit))
	if a.status != 403 || a.at("code") != "scope_required" {
		t.Errorf("a key with other scopes than %s: %s", op.Scope, a)
	}
	maker := limit
	if example.each && op.ID != "getAPIKey" { // a key with keys:read makes none
		maker = extra
	}
	a = extra.call(t, op, example.make(t, h, maker))
	if a.status >= 300 && a.status != example.answers {
		t.Errorf("a key with the scope %s: %s", op.Scope, a)
	}
	if example.after != nil {
		example.after(t, h)
	}
	// A person can have 100 keys, and a workspace 100 of programs.
	if _, err := h.db.ExecContext(t.Context(),
		`DELETE FROM api_keys WHERE name IN ('scoped', 'a program', 'another')`); err != nil {
		t.Fatal(err)
	}
}

// mostAllowed returns the last caller with an API key that may call op; nil if there is none.
func (h *testWorkspace) mostAllowed(op *openapi.Operation) (limit *testCaller) {
	for _, c := range h.callers {
		if c.host == onRed && !c.jwt && !c.session && c.role != identity.NoRole && expected(op, c) == 200 {
			limit = c
		}
	}
	return limit
}

// scoped returns a caller like c whose key has some scopes.
func (h *testWorkspace) scoped(t *testing.T, c *testCaller, scopes ...string) *testCaller {
	t.Helper()
	caller := *c
	if !c.full {
		ownClient := *c.client
		ownClient.token = c.create(t, "/api/api-keys", object{"name": "scoped", "scopes": scopes}, onRed).at("token")
		caller.client = &ownClient
		return &caller
	}
	// Its user is a viewer, and only the command line gives such a user the full ceiling.
	flags := []string{"--org", "red", "--role", "owner", "--name", "scoped"}
	for _, scope := range scopes {
		flags = append(flags, "--scope", scope)
	}
	caller.client, _ = c.key(t, flags...)
	return &caller
}
