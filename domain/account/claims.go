package account

import (
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Claims is what a verified token of an OpenID provider says of its bearer. Issuer and Subject
// together are who that is; neither a name nor an e-mail address is (OpenID Connect Core,
// section 5.7).
type Claims struct {
	Issuer        string
	Subject       string    // 1 to 255 bytes without control characters, unique at the issuer
	Email         string    // as the issuer likes; empty: none given
	EmailVerified bool      // the issuer vouches for Email
	Name          string    // as long as the issuer likes, of any characters; empty: none given
	IssuedAt      time.Time // zero: not said
	ExpiresAt     time.Time

	// Raw is every claim as JSON decodes it: string, float64, bool, nil, []any, map[string]any.
	// It may be shared with other requests, and is never changed.
	Raw map[string]any
}

// VerifiedEmail is the address that the issuer vouches for; empty if it does not, or if that is no
// address (EmailKey).
func (c Claims) VerifiedEmail() string {
	if !c.EmailVerified || !validEmail(c.Email) {
		return ""
	}
	return c.Email
}

// Grants is what claims entitle their bearer to.
type Grants struct {
	Operator bool
	Roles    map[string]identity.Role // by the slug of the workspace; never NoRole
}

// Grants returns what rules make of c. Where several name a workspace, the highest role counts.
// A claim that is neither a string, nor a boolean, nor a list of strings matches no rule.
func (c Claims) Grants(rules []identity.ClaimRule) Grants {
	g := Grants{Roles: map[string]identity.Role{}}
	for _, r := range rules {
		if !matches(r, c.Raw) {
			continue
		}
		g.Operator = g.Operator || r.Operator
		if r.Workspace != "" && r.Role > g.Roles[r.Workspace] {
			g.Roles[r.Workspace] = r.Role
		}
	}
	return g
}

func matches(r identity.ClaimRule, claims map[string]any) bool {
	if r.Claim == "" || r.Value == "" {
		return false
	}
	found, ok := claimAt(claims, r.Claim)
	if !ok {
		return false
	}
	switch v := found.(type) {
	case string:
		return v == r.Value
	case bool:
		return strconv.FormatBool(v) == r.Value
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok && s == r.Value {
				return true
			}
		}
	}
	return false
}

// claimAt finds the claim at path. The whole path as one name comes first; then each dot in turn
// is taken for the one after which an object's members begin.
func claimAt(claims map[string]any, path string) (any, bool) {
	if v, ok := claims[path]; ok {
		return v, true
	}
	for i, c := range path {
		if c != '.' {
			continue
		}
		inner, ok := claims[path[:i]].(map[string]any)
		if !ok {
			continue
		}
		if v, ok := claimAt(inner, path[i+1:]); ok {
			return v, true
		}
	}
	return nil, false
}
