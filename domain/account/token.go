package account

import "github.com/atrium-hq/atrium/domain/secret"

// Prefixes of tokens.
const (
	KeyTokenPrefix        = "atk_" // of an API key
	invitationTokenPrefix = "ati_" // of an invitation
	signInLinkPrefix      = "atl_" // of a sign-in link
	signInCodePrefix      = "ato_" // of the code of a sign-in at a provider
	browserPrefix         = "atn_" // of the secret that binds such a code to a browser
	sessionPrefix         = "atb_" // of a session's cookie
	sessionProofPrefix    = "atf_" // of a session's proof
)

// Hash is the stored form of a token.
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

// ParseSignInLink does the same for the token of a sign-in link.
func ParseSignInLink(s string) (Token, bool) { return secret.ParseToken(signInLinkPrefix, s) }

// ParseSignInCode does the same for the code of a sign-in at a provider.
func ParseSignInCode(s string) (Token, bool) { return secret.ParseToken(signInCodePrefix, s) }

// NewBrowserSecret returns a secret that binds a sign-in code to a browser.
func NewBrowserSecret() Token { return secret.NewToken(browserPrefix) }

// ParseBrowserSecret checks the form of such a secret.
func ParseBrowserSecret(s string) (Token, bool) { return secret.ParseToken(browserPrefix, s) }

// ParseSessionCookie does the same for a session's cookie.
func ParseSessionCookie(s string) (Token, bool) { return secret.ParseToken(sessionPrefix, s) }

// ParseSessionProof does the same for a session's proof.
func ParseSessionProof(s string) (Token, bool) { return secret.ParseToken(sessionProofPrefix, s) }
