package account

import "github.com/atrium-hq/atrium/domain/secret"

// What a token is for.
const (
	KeyTokenPrefix        = "atk_" // of an API key
	invitationTokenPrefix = "ati_" // of an invitation
)

// Hash is what is stored of a token.
type Hash = secret.Hash

// Token is the secret text of an API key or an invitation.
type Token = secret.Token

// NewToken returns a fresh token for an API key.
func NewToken() Token { return secret.NewToken(KeyTokenPrefix) }

// ParseToken checks the form and checksum of an API key's token; a false answer costs no look-up.
func ParseToken(s string) (Token, bool) { return secret.ParseToken(KeyTokenPrefix, s) }

// ParseInvitationToken does the same for an invitation's.
func ParseInvitationToken(s string) (Token, bool) {
	return secret.ParseToken(invitationTokenPrefix, s)
}
