package account_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestClaimRule(t *testing.T) {
	tests := map[string]struct {
		claims       string
		claim, value string
		want         bool
	}{
		"a string that is the value":                {`{"dept":"ops"}`, "dept", "ops", true},
		"not one that holds it":                     {`{"dept":"devops ops"}`, "dept", "ops", false},
		"nor one in other letters":                  {`{"dept":"OPS"}`, "dept", "ops", false},
		"a list with the value":                     {`{"groups":["a","ops"]}`, "groups", "ops", true},
		"not a list without it":                     {`{"groups":["a","b"]}`, "groups", "ops", false},
		"nor an empty list":                         {`{"groups":[]}`, "groups", "ops", false},
		"a list with other things beside it":        {`{"groups":[1,null,{"x":1},"ops"]}`, "groups", "ops", true},
		"not a list within the list":                {`{"groups":[["ops"]]}`, "groups", "ops", false},
		"a true boolean":                            {`{"staff":true}`, "staff", "true", true},
		"a false one, if that is asked for":         {`{"staff":false}`, "staff", "false", true},
		"not a false one for true":                  {`{"staff":false}`, "staff", "true", false},
		"nor a boolean within a list":               {`{"staff":[true]}`, "staff", "true", false},
		"a claim within objects":                    {`{"realm_access":{"roles":["ops"]}}`, "realm_access.roles", "ops", true},
		"deeper still":                              {`{"a":{"b":{"c":{"d":"ops"}}}}`, "a.b.c.d", "ops", true},
		"not the claim beside the path's end":       {`{"realm_access":{"groups":["ops"]}}`, "realm_access.roles", "ops", false},
		"not a path through a string":               {`{"realm_access":"roles"}`, "realm_access.roles", "ops", false},
		"nor through a list":                        {`{"realm_access":[{"roles":"ops"}]}`, "realm_access.roles", "ops", false},
		"a name with dots":                          {`{"https://example.com/roles":["ops"]}`, "https://example.com/roles", "ops", true},
		"a name with dots within an object":         {`{"resource_access":{"my.app":{"roles":["ops"]}}}`, "resource_access.my.app.roles", "ops", true},
		"an object under the name's first part too": {`{"a":{"x":1},"a.b":{"c":"ops"}}`, "a.b.c", "ops", true},
		"the whole name before its parts":           {`{"a.b":"no","a":{"b":"ops"}}`, "a.b", "ops", false},
		"not a number":                              {`{"level":1}`, "level", "1", false},
		"nor null":                                  {`{"level":null}`, "level", "null", false},
		"nor an object":                             {`{"level":{"ops":true}}`, "level", "ops", false},
		"nor a claim that is missing":               {`{}`, "level", "ops", false},
		"an unset value equals nothing":             {`{"level":""}`, "level", "", false},
		"and an unset claim is none":                {`{"":"ops"}`, "", "ops", false},
		"nothing is within a path of dots":          {`{"a":"ops"}`, "..", "ops", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rules := []identity.ClaimRule{{Claim: tt.claim, Value: tt.value, Operator: true}}
			assert.Equal(t, "matched", decoded(t, tt.claims).Grants(rules).Operator, tt.want)
		})
	}
}

func TestGrants(t *testing.T) {
	c := decoded(t, `{"groups":["staff","leads","ops"]}`)
	rule := func(value, workspace string, role identity.Role) identity.ClaimRule {
		return identity.ClaimRule{Claim: "groups", Value: value, Workspace: workspace, Role: role}
	}
	tests := map[string]struct {
		rules []identity.ClaimRule
		want  account.Grants
	}{
		"no rule, no grant": {nil, account.Grants{Roles: map[string]identity.Role{}}},
		"the highest role wins, wherever it stands": {
			[]identity.ClaimRule{rule("staff", "lab", identity.Viewer), rule("leads", "lab", identity.Admin),
				rule("ops", "lab", identity.Member)},
			account.Grants{Roles: map[string]identity.Role{"lab": identity.Admin}},
		},
		"each workspace on its own": {
			[]identity.ClaimRule{rule("staff", "lab", identity.Viewer), rule("ops", "shop", identity.Owner)},
			account.Grants{Roles: map[string]identity.Role{"lab": identity.Viewer, "shop": identity.Owner}},
		},
		"a rule that does not match grants nothing": {
			[]identity.ClaimRule{rule("staff", "lab", identity.Viewer), rule("board", "lab", identity.Owner),
				{Claim: "groups", Value: "board", Operator: true}},
			account.Grants{Roles: map[string]identity.Role{"lab": identity.Viewer}},
		},
		"an operator has no role by that": {
			[]identity.ClaimRule{{Claim: "groups", Value: "ops", Operator: true}},
			account.Grants{Operator: true, Roles: map[string]identity.Role{}},
		},
		"a later rule does not take the operator away": {
			[]identity.ClaimRule{{Claim: "groups", Value: "ops", Operator: true},
				rule("staff", "lab", identity.Viewer)},
			account.Grants{Operator: true, Roles: map[string]identity.Role{"lab": identity.Viewer}},
		},
		"one rule may grant both": {
			[]identity.ClaimRule{{Claim: "groups", Value: "ops", Operator: true, Workspace: "lab",
				Role: identity.Owner}},
			account.Grants{Operator: true, Roles: map[string]identity.Role{"lab": identity.Owner}},
		},
		"a workspace without a role is no grant": {
			[]identity.ClaimRule{rule("staff", "lab", identity.NoRole)},
			account.Grants{Roles: map[string]identity.Role{}},
		},
		"nor is a role without a workspace": {
			[]identity.ClaimRule{rule("staff", "", identity.Owner)},
			account.Grants{Roles: map[string]identity.Role{}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, c.Grants(tt.rules)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func decoded(t *testing.T, claims string) account.Claims {
	t.Helper()
	var c account.Claims
	require.NoError(t, json.Unmarshal([]byte(claims), &c.Raw))
	return c
}
