package account

import (
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// maxListedGroups is a token's maximum number of groups that count. Providers list fewer: Entra ID lists 200, Okta 100.
const maxListedGroups = 1_000

// ClockSkew is the maximum difference between the clocks at a token's issuer and at Atrium.
const ClockSkew = time.Minute

// Claims holds the claims of a verified OpenID provider token about its bearer. Issuer and Subject together identify
// the bearer; a name or an e-mail address does not (OpenID Connect Core, section 5.7).
type Claims struct {
	Issuer        string
	Subject       string    // 1 to 255 bytes without control characters, unique at the issuer
	Email         string    // in any form that the issuer chooses; empty: none given
	EmailVerified bool      // the issuer vouches for Email
	Name          string    // of any length and characters; empty: none given
	IssuedAt      time.Time // zero: not given
	ExpiresAt     time.Time // verifiers accept the token for ClockSkew longer

	// Raw holds every claim as JSON decodes it: string, float64, bool, nil, []any, map[string]any.
	// Requests may share it, so it must not be changed.
	Raw map[string]any
}

// EmailFor returns the address that the claims prove to org: the issuer calls it verified, and org
// believes the issuer that (identity.Issuer.VouchesFor). Empty without such an address, or if a new account
// could not have the address (emailFaults).
func (c Claims) EmailFor(org *identity.Org) string {
	issuer, ok := org.Issuer(c.Issuer)
	if !ok || !c.EmailVerified || len(emailFaults(c.Email)) > 0 || !issuer.VouchesFor(c.Email) {
		return ""
	}
	return c.Email
}

// Missing returns the claims that org requires in the issuer's tokens and that c does not have.
func (c Claims) Missing(org *identity.Org) []identity.ClaimValue {
	issuer, _ := org.Issuer(c.Issuer)
	var missing []identity.ClaimValue
	for _, need := range issuer.Require {
		if !has(c.Raw, need) {
			missing = append(missing, need)
		}
	}
	return missing
}

// HasSecondFactor reports whether c proves that its bearer showed a second factor, by one of the claims that org lists
// for the issuer.
func (c Claims) HasSecondFactor(org *identity.Org) bool {
	issuer, _ := org.Issuer(c.Issuer)
	return slices.ContainsFunc(issuer.SecondFactor, func(proof identity.ClaimValue) bool { return has(c.Raw, proof) })
}

// AuthenticatedAt returns when the issuer authenticated the bearer (auth_time); zero if it does not report that, or a
// time after the end of the token.
func (c Claims) AuthenticatedAt() time.Time {
	seconds, ok := c.Raw["auth_time"].(float64)
	if !ok || seconds <= 0 || seconds > float64(c.ExpiresAt.Unix()) {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// Grants holds the rights that claims give their bearer.
type Grants struct {
	Operator bool
	Roles    map[string]identity.Role // by workspace slug; never NoRole
}

// None reports whether g grants nothing.
func (g Grants) None() bool { return !g.Operator && len(g.Roles) == 0 }

// Grants applies the rules for c's issuer to c. If several rules name a workspace, the highest role
// counts. A claim that is not a string, a boolean or a list of strings matches no rule.
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

// Groups returns the external ids of groups that c lists for org: at most maxListedGroups, sorted. ok is false if c has
// no claim about groups, because another issuer does. An issuer that leaves the claim out lists none.
func (c Claims) Groups(org *identity.Org) (ids []string, ok bool) {
	if org.GroupClaim.Issuer == "" || org.GroupClaim.Issuer != c.Issuer {
		return nil, false
	}
	found, _ := claimAt(c.Raw, org.GroupClaim.Claim)
	switch v := found.(type) {
	case string:
		ids = []string{v}
	case []any:
		for _, one := range v {
			if s, isString := one.(string); isString {
				ids = append(ids, s)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), maxListedGroups)], true
}

// has reports whether a claim equals a value or is a list that contains it.
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

// claimAt returns the claim at path. It first looks for a claim named by the whole path; then it tries
// each dot as the place where an object's members begin.
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
