package server

import (
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// The errors of requests without a valid credential. They differ only by what the request itself shows, such as a wrong
// checksum: whether a key or a session ever existed is told to no one.
var (
	errNoCredential = identity.ErrUnauthenticated.Because(
		"The request has no credential. Send an API key (atk_...), or a token of an identity provider of the " +
			"organisation, in the Authorization header after the word Bearer. A browser can sign in instead, and " +
			"send the cookie of its session.",
	)
	errNotBearer = identity.ErrUnauthenticated.Because(
		"The Authorization header must be the word Bearer, a space, and an API key (atk_...) or a token of an " +
			"identity provider of the organisation.",
	)
	errKeyMalformed = identity.ErrUnauthenticated.Because(
		"The API key in the Authorization header is incomplete or mistyped: its length or its checksum is wrong.",
	)
	errKeyInvalid = identity.ErrUnauthenticated.Because(
		"The API key in the Authorization header is not valid here: it is unknown, was revoked or has expired, or " +
			"its user is disabled.",
	)
	errTokenInvalid = identity.ErrUnauthenticated.Because(
		"The token in the Authorization header is neither an API key (atk_...) nor a valid token of an identity " +
			"provider of the organisation.",
	)
	errSessionInvalid = identity.ErrUnauthenticated.Because(
		"The session of the cookie is not valid: it is unknown or has ended, or the request lacks its proof or comes " +
			"from a page of another origin. Sign in again, or send an API key in the Authorization header.",
	)
)

// refusalOf returns the error for a request whose credential is not valid.
func refusalOf(r *http.Request, token string) error {
	switch {
	case token == "" && r.Header.Get("Authorization") == "":
		return errNoCredential
	case token == "":
		return errNotBearer
	case r.Header.Get("Authorization") == "":
		return errSessionInvalid
	case !strings.HasPrefix(token, account.KeyTokenPrefix):
		return errTokenInvalid
	}
	if _, ok := account.ParseToken(token); !ok {
		return errKeyMalformed
	}
	return errKeyInvalid
}
