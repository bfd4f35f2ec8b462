package identity

// Issuer is an OpenID provider whose tokens an org accepts. Issuers are configuration; an org
// lists each at most once.
type Issuer struct {
	// URL is the provider's issuer identifier, letter for letter as in its tokens' iss, a final
	// slash included. It is https, but for a provider on loopback.
	URL string

	// Audiences are the client or resource identifiers under which the provider knows Atrium: a
	// token must be meant for one of them (RFC 7519, section 4.1.3). Without any, none is accepted.
	Audiences []string
}

// ClaimRule is an org's decision about those whose token says that Claim is, or lists, Value. It
// may grant the org's operator flag, a role in a workspace, or both.
type ClaimRule struct {
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
