package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Issuer is an OpenID provider whose tokens an org accepts. Issuers are configuration; an org
// lists each at most once.
type Issuer struct {
	// URL is the provider's issuer identifier, exactly as in its tokens' iss, including a final slash.
	// It is https, except for a provider on loopback.
	URL string

	// Audiences are the client or resource identifiers under which the provider knows Atrium: a token
	// must be meant for one of them (RFC 7519, section 4.1.3). If empty, no token is accepted.
	Audiences []string

	// TrustEmail means that the org trusts the issuer's email_verified. Without it, addresses in the issuer's tokens
	// are not used.
	TrustEmail bool

	// EmailDomains limits TrustEmail to addresses of these domains, in lower case. Subdomains are not
	// included. Empty: TrustEmail applies to every address.
	EmailDomains []string

	// Require lists claims that each token of the issuer must have.
	Require []ClaimValue

	// SecondFactor lists claims of which each proves that the bearer showed a second factor, such as mfa in amr.
	SecondFactor []ClaimValue

	// Client is Atrium's registration at the issuer, with which people sign in with a browser; nil: they cannot.
	Client *Client
}

// Client is the registration of Atrium at an OpenID provider.
type Client struct {
	Name   string // in the address of the sign-in; unique in the org
	Title  string // for people
	ID     string
	Secret secret.String // zero: a public client, which only PKCE protects
	Scopes []string      // openid is one of them

	// MaxAge is how long before a sign-in the provider may have authenticated the person (OpenID Connect Core, section
	// 3.1.2.1); 0: any time.
	MaxAge time.Duration

	// ACRValues are the authentication contexts that are requested, of which the provider must report one (acr). Empty:
	// any.
	ACRValues []string
}

// AgeOfSignIn returns how long ago the provider may have authenticated a person who wants to sign in with at most a
// requested age: the shorter one of it and MaxAge. nil: any time.
func (c *Client) AgeOfSignIn(requested *time.Duration) *time.Duration {
	if c.MaxAge > 0 && (requested == nil || *requested > c.MaxAge) {
		return &c.MaxAge
	}
	return requested
}

// ClaimValue is a claim and a value that it must have, as in ClaimRule.
type ClaimValue struct{ Claim, Value string }

// VouchesFor reports whether the org trusts the issuer that an address belongs to the bearer of its
// token.
func (i Issuer) VouchesFor(email string) bool {
	if !i.TrustEmail || len(i.EmailDomains) == 0 {
		return i.TrustEmail
	}
	return inDomains(email, i.EmailDomains)
}

// inDomains reports whether an address's domain is one of domains.
func inDomains(email string, domains []string) bool {
	_, domain, _ := strings.Cut(email, "@")
	return slices.Contains(domains, strings.Map(func(r rune) rune {
		// other characters that Unicode folds, such as the Kelvin sign, belong to other domains
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, domain))
}

// GroupClaim is the claim in which an issuer's tokens list the groups of their bearer. A group of a workspace whose
// external id is listed has the bearer as one of its people.
type GroupClaim struct {
	Issuer string // an issuer's URL, or SCIMIssuer; empty: groups follow no claim
	Claim  string // named as in ClaimRule
}

// ClaimRule grants rights to users whose token has a Claim that equals Value or lists it: the org's
// operator flag, a role in a workspace, or both.
type ClaimRule struct {
	// Issuer is the URL of the issuer to whose tokens the rule applies. Tokens of other issuers are not
	// affected.
	Issuer string

	// Claim names a claim. Dots lead into objects, as in realm_access.roles. A name that contains dots
	// itself, such as https://example.com/roles, is found too.
	Claim string

	// Value is compared exactly; true and false also match booleans. An empty Value matches nothing.
	Value string

	Operator  bool
	Workspace string // slug; empty: the rule grants no role
	Role      Role   // in Workspace
}
