package warehouse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
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

// Token exchanges the signature of a service account for a token with a scope (RFC 7523; Google's "OAuth 2.0 for
// server to server applications"). key is the account's key in JSON.
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
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+g.Host+"/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		return "", connection.Internal
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "atrium")
	answer, err := web.Do(ctx, r)
	if errors.Is(err, connection.QueryTimeout) {
		err = connection.ConnectTimeout
	}
	if err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK {
		return "", grantRefused(answer)
	}
	var granted struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer.Body, &granted); err != nil || !isToken(granted.AccessToken) {
		return "", connection.NotThisDatabase
	}
	return granted.AccessToken, nil
}

// isToken reports whether s can be in a header (RFC 6750, section 2.1).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
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
