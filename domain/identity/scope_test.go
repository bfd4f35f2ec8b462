package identity_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func scopes(t *testing.T, names ...string) identity.Scopes {
	t.Helper()
	s, ok := identity.NewScopes(names)
	if !ok {
		t.Fatalf("%q are not scopes", names)
	}
	return s
}

func TestScopesAllow(t *testing.T) {
	for name, tt := range map[string]struct {
		has  []string
		need identity.Scope
		want bool
	}{
		"no scopes allow everything":                       {nil, "prompts:write", true},
		"no scopes allow what has no scope":                {nil, "", true},
		"scopes do not allow an operation without a scope": {[]string{"prompts:write"}, "", false},
		"every key can call some operations":               {[]string{"prompts:render"}, identity.AnyScope, true},
		"a scope allows itself":                            {[]string{"events:read", "prompts:read"}, "prompts:read", true},
		"reading does not include writing":                 {[]string{"prompts:read"}, "prompts:write", false},
		"writing includes reading":                         {[]string{"prompts:write"}, "prompts:read", true},
		"writing includes what reading includes":           {[]string{"prompts:write"}, "prompts:render", true},
		"reading chats includes running them":              {[]string{"chats:read"}, "chats:runtime", true},
		"rendering does not include reading":               {[]string{"prompts:render"}, "prompts:read", false},
		"paying includes reporting usage":                  {[]string{"payments:write"}, "payments:report", true},
		"reading payments does not":                        {[]string{"payments:read"}, "payments:report", false},
		"a scope is of its area only":                      {[]string{"chats:write"}, "prompts:render", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := scopes(t, tt.has...)
			assert.Equal(t, "Allow", s.Allow(tt.need), tt.want)
			err := identity.Actor{Scopes: s}.RequireScope(tt.need)
			if tt.want != (err == nil) || (!tt.want && !errors.Is(err, identity.ErrScopeRequired)) {
				t.Errorf("RequireScope = %v", err)
			}
			if !tt.want && !strings.Contains(err.Error(), string(tt.need)) {
				t.Errorf("%q does not name the scope", err)
			}
		})
	}
}

func TestScopesCover(t *testing.T) {
	for name, tt := range map[string]struct {
		has, other []string
		want       bool
	}{
		"no limit covers no limit":           {nil, nil, true},
		"no limit covers a limit":            {nil, []string{"prompts:write"}, true},
		"a limit does not cover its absence": {[]string{"prompts:write"}, nil, false},
		"a scope covers what it includes":    {[]string{"prompts:write"}, []string{"prompts:render"}, true},
		"all of the others have to be covered": {[]string{"prompts:write"}, []string{"prompts:read", "events:read"},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "Cover", scopes(t, tt.has...).Cover(scopes(t, tt.other...)), tt.want)
		})
	}
}

func TestNewScopes(t *testing.T) {
	assert.Equal(t, "scopes", scopes(t, "prompts:read", "events:read", "prompts:read"), "events:read prompts:read")
	for _, problem := range []string{"", "any", "prompts", "prompts:delete", "prompts:read events:read"} {
		if s, ok := identity.NewScopes([]string{problem}); ok || s != "" {
			t.Errorf("%q is a scope", problem)
		}
	}
	if all := identity.AllScopes(); !slices.IsSorted(all) {
		t.Errorf("%q are not sorted", all)
	}
}
