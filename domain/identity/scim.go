package identity

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/atrium-hq/atrium/domain/secret"
)

// SCIMIssuer represents an org's directory wherever other issuers are named by their URLs: in claim rules, and as an
// address's verifier.
const SCIMIssuer = "scim"

// SCIM is how a directory, such as an identity provider's, manages an org's people (RFC 7644).
type SCIM struct {
	Tokens       []secret.String // the directory's bearer tokens: two while one replaces the other
	EmailDomains []string        // of the addresses of its people, in lower case; empty: any
	ServiceKeys  SuspendedKeys   // what happens to the service keys of a person that it deactivates
}

// SuspendedKeys is what happens to the service keys that a person created when the directory deactivates or deletes the
// person. The zero value is SuspendServiceKeys.
type SuspendedKeys string

// The values of SuspendedKeys.
const (
	SuspendServiceKeys SuspendedKeys = ""       // they work again when the directory activates the person
	KeepServiceKeys    SuspendedKeys = "keep"   // they go on working
	RevokeServiceKeys  SuspendedKeys = "revoke" // they are revoked permanently
)

// Token returns the position of a bearer token among the directory's, from 1; 0 if it is none of them.
func (s *SCIM) Token(token string) (position int) {
	if s == nil || token == "" {
		return 0
	}
	digest := sha256.Sum256([]byte(token)) // of one length, so that the comparison takes the same time
	for i, t := range s.Tokens {
		want := sha256.Sum256([]byte(t.Reveal()))
		position = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], want[:]), i+1, position)
	}
	return position
}
