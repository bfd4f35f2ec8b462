package account

import "github.com/atrium-hq/atrium/domain/secret"

// Prefixes of tokens.
const (
	KeyTokenPrefix        = "atk_" // of an API key
	invitationTokenPrefix = "ati_" // of an invitation
)

// Hash is a token's stored form.
type Hash = secret.Hash

// Token is the secret string of an API key or an invitation.
type Token = secret.Token

// NewToken returns a new token for an API key.
func NewToken() Token { return secret.NewToken(KeyTokenPrefix) }

// ParseToken checks the form and checksum of an API key's token, so that an invalid one costs no
// look-up.
func ParseToken(s string) (Token, bool) { return secret.ParseToken(KeyTokenPrefix, s) }

// ParseInvitationToken does the same for an invitation's token.
func ParseInvitationToken(s string) (Token, bool) {
	return secret.ParseToken(invitationTokenPrefix, s)
}
