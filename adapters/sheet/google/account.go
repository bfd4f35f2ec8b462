package google

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"
	"golang.org/x/time/rate"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// scope is all that Atrium asks for.
const scope = "https://www.googleapis.com/auth/spreadsheets.readonly"

// Google allows a user 60 reads a minute (https://developers.google.com/sheets/api/limits). The burst and the refill
// within a minute together stay below that.
const (
	perMinute   = 50
	burst       = 10
	maxAccounts = 1000 // that are remembered; a forgotten one signs in again
)

// key identifies a credential without containing it.
type key [sha256.Size]byte

// account is an identity with which Google is called.
type account struct {
	key    key
	email  string     // of a service account or a person, which sheets are shared with
	tokens *renewable // nil for an API key
	apiKey secret.String
	budget *rate.Limiter
	used   time.Time
}

// accounts remembers accounts for as long as they are in use, with their tokens and budgets.
type accounts struct {
	config Config
	now    func() time.Time

	mu  sync.Mutex
	all map[key]*account
}

// forTarget returns the account for a target: the workspace's own, else the org's API key.
func (a *accounts) forTarget(target ports.SheetTarget) (*account, error) {
	var text []byte
	switch {
	case target.Account.Kind() == connection.GoogleSheets:
		secret, err := target.Account.Reveal()
		if err != nil {
			return nil, source.ErrSheetFailed
		}
		text = append([]byte("account "), secret...)
		if target.Account.IsConsent() {
			client := target.Offer.GoogleClient
			text = fmt.Appendf(text, " of %s %s", client.ID, client.Secret.Reveal())
		}
	case !target.Offer.GoogleAPIKey.IsZero():
		text = append([]byte("API key "), target.Offer.GoogleAPIKey.Reveal()...)
	default:
		return nil, source.ErrSheetNotShared.Because("This workspace has no connection to Google Sheets. Add one of " +
			"kind google_sheets, and share the sheet with its client_email.")
	}
	k := key(sha256.Sum256(text))
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.all[k]
	if !ok {
		found = &account{key: k, budget: rate.NewLimiter(rate.Every(time.Minute/perMinute), burst),
			apiKey: target.Offer.GoogleAPIKey}
		if target.Account.Kind() == connection.GoogleSheets {
			found.apiKey = secret.String{}
			found.email = cmp.Or(target.Account.Text("client_email"),
				target.Account.Text(connection.FieldGoogleAccount))
			found.tokens = &renewable{source: func() oauth2.TokenSource {
				return a.config.tokens(target.Offer.GoogleClient, target.Account)
			}}
		}
		a.evict()
		a.all[k] = found
	}
	found.used = a.now()
	return found, nil
}

// evict makes room for one more.
func (a *accounts) evict() {
	for len(a.all) >= maxAccounts {
		var oldest *account
		for _, one := range a.all {
			if oldest == nil || one.used.Before(oldest.used) {
				oldest = one
			}
		}
		delete(a.all, oldest.key)
	}
}

// tokens signs in for a person who gave consent to client, or as a service account (RFC 7523), at a URL that the
// credential cannot choose.
func (c Config) tokens(client connection.OAuthClient, credential connection.Credential) oauth2.TokenSource {
	if credential.IsConsent() {
		return c.consentTokens(client, credential)
	}
	if !isPrivateKey(credential.Secret("private_key").Reveal()) {
		return keyless{}
	}
	config := jwt.Config{
		Email: credential.Text("client_email"), PrivateKey: []byte(credential.Secret("private_key").Reveal()),
		PrivateKeyID: credential.Text("private_key_id"),
		Scopes:       []string{scope}, TokenURL: c.TokenURL,
	}
	// A token source has no call's context, so the client's timeout ends requests that take too long.
	return config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, c.Client))
}

// keyless is an account without a key.
type keyless struct{}

var errKeyless = errors.New("what should be a private key is none")

func (keyless) Token() (*oauth2.Token, error) { return nil, errKeyless }

func isPrivateKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if k, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		_, ok := k.(*rsa.PrivateKey)
		return ok
	}
	_, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	return err == nil
}

// sign authenticates a request. Google's text in a refusal is discarded.
func (a *account) sign(r *http.Request) error {
	if a.tokens == nil {
		r.Header.Set("X-Goog-Api-Key", a.apiKey.Reveal()) // not in the URL, which proxies log
		return nil
	}
	token, err := a.tokens.Token()
	switch failure(err) {
	case "":
	case connection.ConsentEnded:
		return source.ErrSheetConsentEnded
	case connection.AuthFailed:
		return source.ErrSheetNotShared.Because("Google does not accept the key of this workspace's service account. " +
			"Verify its connection with a new one.")
	case connection.QuotaExceeded:
		return source.ErrSheetRateLimited.WithRetryAfter(time.Minute)
	default:
		return source.ErrSheetFailed
	}
	token.SetAuthHeader(r)
	return nil
}
