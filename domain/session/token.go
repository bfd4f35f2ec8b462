package session

import (
	"github.com/atrium-hq/atrium/domain/secret"
)

// Prefixes of tokens.
const (
	linkPrefix    = "atl_" // of a sign-in link
	codePrefix    = "ato_" // of the code for a sign-in at a provider
	browserPrefix = "atn_" // of the secret that binds such a code to a browser
	cookiePrefix  = "atb_" // of a session's cookie
	proofPrefix   = "atf_" // of a session's proof
)

// ParseLink checks the form and checksum of a sign-in link's token, so that an invalid one costs no look-up.
func ParseLink(s string) (secret.Token, bool) { return secret.ParseToken(linkPrefix, s) }

// ParseCode does the same for the code for a sign-in at a provider.
func ParseCode(s string) (secret.Token, bool) { return secret.ParseToken(codePrefix, s) }

// NewBrowserSecret returns a secret that binds a sign-in code to a browser.
func NewBrowserSecret() secret.Token { return secret.NewToken(browserPrefix) }

// ParseBrowserSecret checks the form of such a secret.
func ParseBrowserSecret(s string) (secret.Token, bool) { return secret.ParseToken(browserPrefix, s) }

// ParseCookie does the same for a session's cookie.
func ParseCookie(s string) (secret.Token, bool) { return secret.ParseToken(cookiePrefix, s) }

// ParseProof does the same for a session's proof.
func ParseProof(s string) (secret.Token, bool) { return secret.ParseToken(proofPrefix, s) }
