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

// EmailFor returns the address that the claims prove to org: the issuer calls it verified, and org
// believes the issuer that (identity.Issuer.VouchesFor). Empty if there is none.
func (c Claims) EmailFor(org *identity.Org) string {
	issuer, ok := org.Issuer(c.Issuer)
	if !ok || !c.EmailVerified || !validEmail(c.Email) || !issuer.VouchesFor(c.Email) {
		return ""
	}
	return c.Email
}

// Lacks returns the claims that org requires of the issuer's tokens, and that c does not have.
func (c Claims) Lacks(org *identity.Org) []identity.ClaimValue {
	issuer, _ := org.Issuer(c.Issuer)
	var missing []identity.ClaimValue
	for _, need := range issuer.Require {
		if !has(c.Raw, need) {
			missing = append(missing, need)
		}
	}
	return missing
}

// Grants is what claims entitle their bearer to.
type Grants struct {
	Operator bool
	Roles    map[string]identity.Role // by the slug of the workspace; never NoRole
}

// None reports whether g grants nothing.
func (g Grants) None() bool { return !g.Operator && len(g.Roles) == 0 }

// Grants returns what those rules make of c that are for its issuer. Where several name a workspace,
// the highest role counts. A claim that is neither a string, nor a boolean, nor a list of strings
// matches no rule.
func (c Claims) Grants(rules []identity.ClaimRule) Grants {
	g := Grants{Roles: map[string]identity.Role{}}
	for _, r := range rules {
		if r.Issuer != c.Issuer || !has(c.Raw, identity.ClaimValue{Claim: r.Claim, Value: r.Value}) {
			continue
		}
		g.Operator = g.Operator || r.Operator
		if r.Workspace != "" && r.Role > g.Roles[r.Workspace] {
			g.Roles[r.Workspace] = r.Role
		}
	}
	return g
}

// has reports whether a claim is, or lists, a value.
func has(claims map[string]any, want identity.ClaimValue) bool {
	if want.Claim == "" || want.Value == "" {
		return false
	}
	found, ok := claimAt(claims, want.Claim)
	if !ok {
		return false
	}
	switch v := found.(type) {
	case string:
		return v == want.Value
	case bool:
		return strconv.FormatBool(v) == want.Value
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok && s == want.Value {
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
