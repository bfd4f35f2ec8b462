package warehouse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
)

// GoogleSignIn is the address of Google's token endpoint.
type GoogleSignIn struct {
	Host  string
	Port  uint16
	Roots *x509.CertPool // nil for the machine's
}

var googleSignIn = GoogleSignIn{Host: "oauth2.googleapis.com", Port: httpsPort}

// Token exchanges a service account's signature for a token with a scope (RFC 7523; Google's "OAuth 2.0 for server to
// server applications"). key is the account's key in JSON.
func (g GoogleSignIn) Token(ctx context.Context, n Network, key secret.String, scope string) (string, error) {
	account, err := connection.ParseServiceAccount(key.Reveal())
	if err != nil {
		return "", connection.Internal // the credential should have refused it
	}
	now := time.Now()
	assertion, err := SignJWT(account.Key, account.KeyID, map[string]any{
		"iss": account.Email, "scope": scope, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
		"aud": "https://oauth2.googleapis.com/token", // it does not depend on where the connection goes
	})
	if err != nil {
		return "", connection.Internal
	}
	web, err := OpenWeb(ctx, n, g.Host, g.Port,
		&tls.Config{ServerName: g.Host, RootCAs: g.Roots, MinVersion: tls.VersionTLS12}, nil)
	if errors.Is(err, connection.TLSUnsupported) { // all of Google's servers use TLS
		err = connection.NotThisDatabase
	}
	if err != nil {
		return "", err
	}
	defer web.Close()
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	return web.Grant(ctx, "https://"+g.Host+"/token", form, nil, grantRefused)
}

// grantRefused returns the error for a response of the token endpoint (RFC 6749, section 5.2).
func grantRefused(a Answer) connection.Code {
	var body struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(a.Body, &body); err == nil {
		switch body.Error {
		case "invalid_grant", "invalid_client": // no such account or key, or a clock that is wrong
			return connection.AuthFailed
		case "unauthorized_client", "access_denied", "disabled_client", "admin_policy_enforced", "invalid_scope":
			return connection.AuthRejected
		}
	}
	switch a.Status {
	case http.StatusUnauthorized:
		return connection.AuthFailed
	case http.StatusTooManyRequests:
		return connection.QuotaExceeded
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return connection.ServerStarting
	}
	return connection.NotThisDatabase
}
