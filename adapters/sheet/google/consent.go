package google

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.Consents = (*Accounts)(nil)

// consentScopes are what people are asked for: to read their spreadsheets, and the e-mail address, which identifies
// whose spreadsheets these are.
var consentScopes = []string{"openid", "email", scope}

// The errors of the token and revocation endpoints that are told apart
// (https://developers.google.com/identity/protocols/oauth2/web-server#exchange-errors).
const (
	invalidGrant       = "invalid_grant"       // the code or the refresh token is used, expired or withdrawn
	unauthorizedClient = "unauthorized_client" // the refresh token is another client's
	invalidClient      = "invalid_client"      // the client or its secret is not known
	invalidToken       = "invalid_token"       // of a revocation: the token was revoked before
)

// oauth returns the settings for an org's client.
func (c Config) oauth(client connection.OAuthClient) *oauth2.Config {
	return &oauth2.Config{
		ClientID: client.ID, ClientSecret: client.Secret.Reveal(), RedirectURL: client.RedirectURI,
		Scopes: consentScopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.ConsentURL, TokenURL: c.TokenURL,
			AuthStyle: oauth2.AuthStyleInParams},
	}
}

// Address implements ports.Consents. Google gives a refresh token only for offline access, and after the first consent
// only if the person is asked again
// (https://developers.google.com/identity/protocols/oauth2/web-server#creatingclient).
func (a *Accounts) Address(client connection.OAuthClient, state, verifier string) string {
	return a.config.oauth(client).AuthCodeURL(state, oauth2.AccessTypeOffline,
		oauth2.SetAuthURLParam("prompt", "consent"), oauth2.S256ChallengeOption(verifier))
}

// Exchange implements ports.Consents.
func (a *Accounts) Exchange(
	ctx context.Context, client connection.OAuthClient, code, verifier string,
) (connection.Credential, error) {
	token, err := a.config.oauth(client).Exchange(context.WithValue(ctx, oauth2.HTTPClient, a.config.Client), code,
		oauth2.VerifierOption(verifier))
	if err != nil {
		code := consentFailure(err)
		if code == connection.ConsentEnded {
			return connection.Credential{}, connection.ErrConsentInvalid
		}
		return connection.Credential{}, code
	}
	// The person can leave out a permission in Google's dialog.
	scopes, _ := token.Extra("scope").(string)
	if !slices.Contains(strings.Fields(scopes), scope) {
		return connection.Credential{}, connection.ErrConsentIncomplete
	}
	idToken, _ := token.Extra("id_token").(string)
	email, ok := person(idToken, client.ID, time.Now())
	if !ok || token.RefreshToken == "" {
		return connection.Credential{}, connection.Internal
	}
	return connection.Consented(connection.GoogleSheets, email, client, secret.New(token.RefreshToken)), nil
}

// person returns the e-mail address in an ID token. The token comes from Google's token endpoint over TLS, so its
// signature need not be checked (OpenID Connect Core 1.0, section 3.1.3.7, number 6).
func person(idToken, client string, now time.Time) (email string, ok bool) {
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return "", false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iss, Aud, Email string
		Exp             int64
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return "", false
	}
	const issuer = "accounts.google.com" // with or without https, as Google documents
	return claims.Email, strings.TrimPrefix(claims.Iss, "https://") == issuer && claims.Aud == client &&
		claims.Email != "" && len(claims.Email) <= 254 && now.Before(time.Unix(claims.Exp, 0))
}

// Withdraw implements ports.Consents
// (https://developers.google.com/identity/protocols/oauth2/web-server#tokenrevoke). The endpoint needs no client.
func (a *Accounts) Withdraw(ctx context.Context, c connection.Credential) error {
	body := url.Values{"token": {c.Secret(connection.FieldRefreshToken).Reveal()}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.RevokeURL, strings.NewReader(body))
	if err != nil {
		return connection.Internal
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := a.config.Client.Do(r)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var refusal struct{ Error string }
	_ = json.NewDecoder(http.MaxBytesReader(nil, response.Body, maxAnswer)).Decode(&refusal) // else none of those below
	if response.StatusCode == http.StatusBadRequest && refusal.Error == invalidToken {
		return nil
	}
	return connection.HostUnreachable
}

// renewable is a token source that can forget its token, which Google may refuse before it expires.
type renewable struct {
	source func() oauth2.TokenSource

	mu      sync.Mutex
	current oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (r *renewable) Token() (*oauth2.Token, error) {
	r.mu.Lock()
	if r.current == nil {
		r.current = r.source()
	}
	current := r.current
	r.mu.Unlock()
	return current.Token()
}

func (r *renewable) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = nil
}

// consentTokens gets access tokens for a consent.
func (c Config) consentTokens(client connection.OAuthClient, credential connection.Credential) oauth2.TokenSource {
	if client.ID != credential.Text(connection.FieldOAuthClient) {
		return consented{} // to a client that the org no longer has
	}
	// As for service accounts, the client's timeout ends requests.
	return consented{c.oauth(client).TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, c.Client),
		&oauth2.Token{RefreshToken: credential.Secret(connection.FieldRefreshToken).Reveal()})}
}

// consented is a token source whose errors are a connection.Code.
type consented struct{ source oauth2.TokenSource }

// Token implements oauth2.TokenSource.
func (c consented) Token() (*oauth2.Token, error) {
	if c.source == nil {
		return nil, connection.ConsentEnded
	}
	token, err := c.source.Token()
	if err != nil {
		return nil, consentFailure(err)
	}
	return token, nil
}

// consentFailure is failure for a client's requests.
func consentFailure(err error) connection.Code {
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch refusal.ErrorCode {
		case invalidGrant, unauthorizedClient:
			return connection.ConsentEnded
		case invalidClient: // which the operator must correct
			return connection.Internal
		}
	}
	return failure(err)
}
