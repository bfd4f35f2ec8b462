package configs

import (
	"fmt"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// SCIM is identity.SCIM with references to its tokens. Without tokens, no directory manages the org's people.
type SCIM struct {
	Tokens       []SecretRef
	EmailDomains []string
	ServiceKeys  string // suspend, keep or revoke; empty: suspend
}

// serviceKeys are the values of SCIM.ServiceKeys.
var serviceKeys = map[string]identity.SuspendedKeys{
	"": identity.SuspendServiceKeys, "suspend": identity.SuspendServiceKeys,
	"keep": identity.KeepServiceKeys, "revoke": identity.RevokeServiceKeys,
}

// minSCIMToken is a token's minimum length, in bytes: 24 random bytes in base64.
const minSCIMToken = 32

// maxSCIMTokens is how many tokens work at the same time: two while one replaces the other.
const maxSCIMTokens = 2

// directory returns s for the domain, or nil.
func (s SCIM) directory() *identity.SCIM {
	if len(s.Tokens) == 0 {
		return nil
	}
	out := &identity.SCIM{ServiceKeys: serviceKeys[s.ServiceKeys]}
	for _, ref := range s.Tokens {
		token, _ := ref.Resolve() // Load has validated it
		out.Tokens = append(out.Tokens, token)
	}
	for _, domain := range s.EmailDomains {
		out.EmailDomains = append(out.EmailDomains, strings.ToLower(domain))
	}
	return out
}

// validate checks the settings for an org's directory, whose key is key. Its problems quote no token.
func (s SCIM) validate(found *problems, key string) {
	if len(s.Tokens) > maxSCIMTokens {
		found.add(key+".tokens", "must list at most %d", maxSCIMTokens)
	}
	for i, ref := range s.Tokens {
		token, err := ref.Resolve()
		if err != nil {
			found.add(fmt.Sprintf("%s.tokens[%d]", key, i), "%w", err)
		} else if len(token.Reveal()) < minSCIMToken {
			found.add(fmt.Sprintf("%s.tokens[%d]", key, i), "must lead to at least %d characters, such as those of "+
				"openssl rand -hex 32", minSCIMToken)
		}
	}
	for i, domain := range s.EmailDomains {
		if !isDomain(domain) {
			found.add(fmt.Sprintf("%s.email_domains[%d]", key, i),
				"must be a domain, as it stands after the @ of addresses")
		}
	}
	if _, ok := serviceKeys[s.ServiceKeys]; !ok {
		found.add(key+".service_keys", "must be suspend, keep or revoke")
	}
	if len(s.EmailDomains) > 0 && len(s.Tokens) == 0 {
		found.add(key+".email_domains", "must be empty without tokens")
	}
}
