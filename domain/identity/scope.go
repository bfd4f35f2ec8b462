package identity

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// ErrScopeRequired is returned to an API key whose scopes do not include what an operation requires.
var ErrScopeRequired = &fault.Error{Kind: fault.Forbidden, Code: "scope_required",
	Detail: "The API key does not have the scope that this operation requires."}

// Scope is an area of the API, and what a caller does there.
type Scope string

// AnyScope marks operations that every API key can call, whatever its scopes.
const AnyScope Scope = "any"

// included lists the scopes that a scope includes. Scopes that end in :write and are not listed include the
// scope of the same area that ends in :read.
var included = map[Scope][]Scope{
	"prompts:read":   {"prompts:render"},
	"chats:read":     {"chats:runtime"},
	"payments:write": {"payments:report"},
	"prompts:write":  {"prompts:check", "prompts:feedback"},
}

// allScopes has every scope that a key can have, sorted.
var allScopes = []Scope{
	"account:read", "account:write",
	"chats:read", "chats:runtime", "chats:write",
	"connections:read", "connections:write",
	"events:read",
	"keys:read", "keys:write",
	"members:read", "members:write",
	"payments:read", "payments:report", "payments:write",
	"people:read", "people:write",
	"presence:read", "presence:write",
	"prompts:check", "prompts:feedback", "prompts:read", "prompts:render", "prompts:write",
	"sources:read", "sources:write",
	"webhooks:read", "webhooks:write",
	"workspace:read", "workspace:write",
}

// AllScopes returns every scope that a key can have, sorted.
func AllScopes() []Scope { return slices.Clone(allScopes) }

// Includes reports whether s allows what need allows.
func (s Scope) Includes(need Scope) bool {
	if s == need {
		return true
	}
	area, isWrite := strings.CutSuffix(string(s), ":write")
	if isWrite && Scope(area+":read").Includes(need) {
		return true
	}
	return slices.Contains(included[s], need)
}

// Scopes limits what an API key can do, in addition to its ceiling. It holds the names of scopes, sorted and separated
// by spaces. Empty Scopes set no limit.
type Scopes string

// NewScopes returns the Scopes of some names. ok is false if one of them is not a scope's name.
func NewScopes(names []string) (_ Scopes, ok bool) {
	for _, name := range names {
		if !slices.Contains(allScopes, Scope(name)) {
			return "", false
		}
	}
	sortedNames := slices.Sorted(slices.Values(names))
	return Scopes(strings.Join(slices.Compact(sortedNames), " ")), true
}

// Names returns the names of the scopes; none if s sets no limit.
func (s Scopes) Names() []string { return strings.Fields(string(s)) }

// Allow reports whether s lets a key call an operation that requires need. Scopes that set a limit do not allow an
// operation without a scope.
func (s Scopes) Allow(need Scope) bool {
	if s == "" || need == AnyScope {
		return true
	}
	for name := range strings.FieldsSeq(string(s)) {
		if Scope(name).Includes(need) {
			return true
		}
	}
	return false
}

// Cover reports whether s allows everything that other allows.
func (s Scopes) Cover(other Scopes) bool {
	if s == "" || s == other {
		return true
	}
	names := other.Names()
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !s.Allow(Scope(name)) })
}

// RequireScope returns ErrScopeRequired, with the name of the scope, if the API key of a does not have need.
func (a Actor) RequireScope(need Scope) error {
	switch {
	case a.Scopes.Allow(need):
		return nil
	case need == "":
		return ErrScopeRequired.Because("API keys with scopes cannot use this operation.")
	default:
		return ErrScopeRequired.Because("This operation requires an API key with the scope " + string(need) + ".")
	}
}
