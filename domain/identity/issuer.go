package identity

import (
	"slices"
	"strings"
)

// Issuer is an OpenID provider whose tokens an org accepts. Issuers are configuration; an org
// lists each at most once.
type Issuer struct {
	// URL is the provider's issuer identifier, letter for letter as in its tokens' iss, a final
	// slash included. It is https, but for a provider on loopback.
	URL string

	// Audiences are the client or resource identifiers under which the provider knows Atrium: a
	// token must be meant for one of them (RFC 7519, section 4.1.3). Without any, none is accepted.
	Audiences []string

	// TrustEmail says that the org believes the issuer's email_verified. Without it the addresses
	// in the issuer's tokens are not used.
	TrustEmail bool

	// EmailDomains limits TrustEmail to addresses of these domains, which are in lower case. A
	// subdomain is another domain. Empty: TrustEmail holds for every address.
	EmailDomains []string

	// Require lists claims that each token of the issuer must have.
	Require []ClaimValue
}

// ClaimValue is a claim and a value that it must have, as in ClaimRule.
type ClaimValue struct{ Claim, Value string }

// VouchesFor reports whether the org believes the issuer that an address belongs to the bearer of
// its token.
func (i Issuer) VouchesFor(email string) bool {
	if !i.TrustEmail || len(i.EmailDomains) == 0 {
		return i.TrustEmail
	}
	_, domain, _ := strings.Cut(email, "@")
	return slices.Contains(i.EmailDomains, strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' { // what Unicode folds besides, such as the Kelvin sign, are other domains
			r += 'a' - 'A'
		}
		return r
	}, domain))
}

// ClaimRule is an org's decision about those whose token says that Claim is, or lists, Value. It
// may grant the org's operator flag, a role in a workspace, or both.
type ClaimRule struct {
	// Issuer is the URL of the issuer to whose tokens the rule applies. The tokens of other issuers
	// neither get nor lose anything by it.
	Issuer string

	// Claim names a claim; dots lead into objects, as in realm_access.roles. A name that has dots
	// of its own, such as https://example.com/roles, is found too.
	Claim string

	// Value is compared exactly; true and false also stand for booleans. The empty one matches
	// nothing.
	Value string

	Operator  bool
	Workspace string // slug; empty: the rule grants no role
	Role      Role   // in Workspace
}
