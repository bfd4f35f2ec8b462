package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.OpenIDClient = (*Client)(nil)

const (
	documentKept = 5 * time.Minute // maximum age of a cached discovery document
	failureKept  = 5 * time.Second // a failure to fetch it
)

// Client implements ports.OpenIDClient.
type Client struct {
	verifier *Verifier

	mu        sync.Mutex
	documents map[string]*discovered // by the issuer's URL; only configured issuers
}

// NewClient returns a client that verifies ID tokens and logout tokens with v.
func NewClient(v *Verifier) *Client {
	return &Client{verifier: v, documents: map[string]*discovered{}}
}

// discovered is what is known of one issuer's discovery document.
type discovered struct {
	mu       sync.Mutex // held while the document is fetched, which takes 5 s at most
	at       time.Time
	document *document
	failed   error
}

// document returns an issuer's discovery document, which is at most documentKept old.
func (c *Client) document(ctx context.Context, issuer string) (*document, error) {
	c.mu.Lock()
	d, ok := c.documents[issuer]
	if !ok {
		d = &discovered{}
		c.documents[issuer] = d
	}
	c.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	age := documentKept
	if d.failed != nil {
		age = failureKept
	}
	if time.Since(d.at) < age {
		return d.document, d.failed
	}
	// Others wait for it too, so it outlives the caller, though not its own deadline.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	d.document, d.failed = c.verifier.provider.discover(ctx, issuer)
	if d.failed == nil {
		d.failed = d.document.checkFlow()
	}
	d.at = time.Now()
	return d.document, d.failed
}

// Begin implements ports.OpenIDClient.
func (c *Client) Begin(ctx context.Context, issuer identity.Issuer, r ports.AuthorizationRequest) (string, error) {
	d, err := c.document(ctx, issuer.URL)
	if err != nil {
		return "", failure("its discovery document", err)
	}
	config, err := d.oauth(issuer.Client, r.RedirectURI)
	if err != nil {
		return "", failure("its discovery document", err)
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(r.Verifier), oauth2.SetAuthURLParam("nonce", r.Nonce)}
	if r.MaxAge != nil {
		seconds := strconv.Itoa(int(r.MaxAge.Seconds()))
		options = append(options, oauth2.SetAuthURLParam("max_age", seconds))
		if *r.MaxAge == 0 { // which some providers take for none
			options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
		}
	}
	if contexts := issuer.Client.ACRValues; len(contexts) > 0 {
		options = append(options, oauth2.SetAuthURLParam("acr_values", strings.Join(contexts, " ")))
	}
	return config.AuthCodeURL(r.State, options...), nil
}

// Finish implements ports.OpenIDClient.
func (c *Client) Finish(
	ctx context.Context, issuer identity.Issuer, r ports.AuthorizationResponse, now time.Time,
) (*account.Claims, error) {
	d, err := c.document(ctx, issuer.URL)
	if err != nil {
		return nil, failure("its discovery document", err)
	}
	if r.Issuer != issuer.URL && (r.Issuer != "" || d.flow.NamesIssuer) {
		return nil, session.ErrSignInState.Because(
			"The response is not from the provider at which the sign-in began. Sign in again.",
		)
	}
	config, err := d.oauth(issuer.Client, r.RedirectURI)
	if err != nil {
		return nil, failure("its discovery document", err)
	}
	token, access, err := c.exchange(ctx, config, r)
	if err != nil {
		return nil, failure("its token endpoint", err)
	}
	meant := identity.Issuer{URL: issuer.URL, Audiences: []string{issuer.Client.ID}}
	claims, err := c.verifier.Verify(ctx, []identity.Issuer{meant}, token, now)
	if reason := Reason(err); reason != "" {
		err = errors.New(reason)
	}
	if err != nil {
		return nil, failure("its ID token", err)
	}
	nonce, _ := claims.Raw["nonce"].(string)
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(r.Nonce)) != 1 {
		return nil, failure("its ID token", errors.New("it has not the nonce of this sign-in"))
	}
	if err := c.complete(ctx, d, access, claims); err != nil {
		return nil, failure("its UserInfo endpoint", err)
	}
	return claims, nil
}

// exchange exchanges a code for an ID token and an access token, which is empty if the provider returns none.
func (c *Client) exchange(
	ctx context.Context, config *oauth2.Config, r ports.AuthorizationResponse,
) (id, access string, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	ctx = context.WithValue(ctx, oauth2.HTTPClient, c.verifier.provider.client)
	token, err := config.Exchange(ctx, r.Code, oauth2.VerifierOption(r.Verifier))
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		// The body may hold secrets, and is not quoted. An error code is one word (RFC 6749, section 5.2).
		return "", "", fmt.Errorf("it answered %d %s", refusal.Response.StatusCode, word(refusal.ErrorCode))
	}
	if _, isURL := errors.AsType[*url.Error](err); err != nil && !isURL && ctx.Err() == nil {
		return "", "", errors.New("its response is no token response")
	}
	if err != nil {
		return "", "", err
	}
	if id, _ = token.Extra("id_token").(string); id == "" {
		return "", "", errors.New("its response has no id_token: is openid one of the scopes?")
	}
	return id, token.AccessToken, nil
}

// word returns s if it is a short word that can be logged, and "" otherwise.
func word(s string) string {
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }
	if len(s) > 40 || strings.ContainsFunc(s, isOther) {
		return ""
	}
	return s
}

func failure(step string, err error) error {
	return fmt.Errorf("%w: %s: %w", session.ErrProviderFailed, step, err)
}

// document is the part of the discovery document that Atrium uses (OpenID Connect Discovery, section 3; RFC 8414).
type document struct {
	Issuer  string `json:"issuer"`
	JWKSURI string `json:"jwks_uri"`

	flow   flow
	flawed bool // the part that flow describes cannot be read
}

// flow is the part of a discovery document about signing in with a browser.
type flow struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"` // empty: there is none
	ResponseTypes []string `json:"response_types_supported"`
	Scopes        []string `json:"scopes_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	LogsOut       bool     `json:"backchannel_logout_supported"`
}

// checkFlow returns an error if people cannot sign in with a browser at the provider.
func (d *document) checkFlow() error {
	for name, endpoint := range map[string]string{
		"authorization_endpoint": d.flow.Authorization, "token_endpoint": d.flow.Token,
	} {
		u, err := url.Parse(endpoint)
		if err != nil || !safe(u) || (u.Scheme == "http" && !loopback(d.Issuer)) || u.Fragment != "" {
			return fmt.Errorf("%s is not an https URL", name)
		}
	}
	switch {
	case d.flawed:
		return errors.New("the discovery document has members of a wrong type")
	case !slices.Contains(d.flow.ResponseTypes, "code"):
		return errors.New("response_types_supported does not list code")
	case len(d.flow.Challenges) > 0 && !slices.Contains(d.flow.Challenges, "S256"):
		return errors.New("code_challenge_methods_supported does not list S256")
	}
	return nil
}

// oauth returns the configuration of the code flow.
func (d *document) oauth(client *identity.Client, redirect string) (*oauth2.Config, error) {
	style, err := d.authStyle(client)
	return &oauth2.Config{
		ClientID: client.ID, ClientSecret: client.Secret.Reveal(), RedirectURL: redirect, Scopes: client.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: d.flow.Authorization, TokenURL: d.flow.Token, AuthStyle: style},
	}, err
}

// authStyle returns how a client authenticates at the token endpoint. The default is client_secret_basic.
func (d *document) authStyle(client *identity.Client) (oauth2.AuthStyle, error) {
	switch {
	case client.Secret.IsZero():
		return oauth2.AuthStyleInParams, nil
	case len(d.flow.Methods) == 0, slices.Contains(d.flow.Methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader, nil
	case slices.Contains(d.flow.Methods, "client_secret_post"):
		return oauth2.AuthStyleInParams, nil
	}
	return 0, errors.New("token_endpoint_auth_methods_supported lists neither client_secret_basic nor " +
		"client_secret_post")
}
