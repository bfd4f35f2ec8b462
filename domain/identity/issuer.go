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
