package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Consents asks people for their consent to read their data at a service, by the authorization code grant of OAuth 2.0
// (RFC 6749) with PKCE (RFC 7636). A Warehouse whose kind of connection supports consents implements it, too.
type Consents interface {
	// Address returns the URL of the service's page that asks the person. The service then redirects the browser to the
	// client's redirect URI, with the state and a code.
	Address(c connection.OAuthClient, state, verifier string) string

	// Exchange returns the credential for a code. connection.ErrConsentInvalid if the service refuses the code,
	// connection.ErrConsentIncomplete if the consent does not cover what Atrium reads, and a connection.Code if the
	// service cannot be reached, or refuses the client. Errors contain no text of the service.
	Exchange(ctx context.Context, c connection.OAuthClient, code, verifier string) (connection.Credential, error)

	// Withdraw ends a consent at the service. It returns nil if the service had ended it before.
	Withdraw(ctx context.Context, c connection.Credential) error
}

// ConsentStates stores which states of consents were used.
type ConsentStates interface {
	// Use marks a state, given by its hash, as used until it expires. connection.ErrConsentInvalid if it was used
	// before. Exactly one of several concurrent calls returns nil.
	Use(ctx context.Context, org identity.OrgID, state [32]byte, expires time.Time) error
}
