package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	fetchTimeout = 5 * time.Second // for discovery and keys together
	maxDocument  = 1 << 20         // bytes
)

// provider fetches the documents that OpenID providers publish.
type provider struct{ client *http.Client }

func newProvider(transport http.RoundTripper) provider {
	return provider{&http.Client{
		Transport: transport,
		// An attacker who controls one provider page must not be able to name its keys.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// keys fetches the current keys of issuer, within 5 s. Its errors do not quote responses.
func (p provider) keys(ctx context.Context, issuer string) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	d, err := p.discover(ctx, issuer)
	if err != nil {
		return nil, err
	}
	return p.keySet(ctx, d.JWKSURI)
}

// discover returns the discovery document of issuer (OpenID Connect Discovery, section 4).
func (p provider) discover(ctx context.Context, issuer string) (*document, error) {
	if err := checkIssuer(issuer); err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	body, err := p.get(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	var d document
	if json.Unmarshal(body, &d) != nil {
		return nil, fmt.Errorf("%s: is not a discovery document", address)
	}
	if d.Issuer != issuer {
		return nil, fmt.Errorf("%s: is the document of another issuer; they must agree to the letter, a final slash "+
			"included", address)
	}
	u, err := url.Parse(d.JWKSURI)
	if err != nil || !safe(u) || (u.Scheme == "http" && !loopback(issuer)) {
		return nil, fmt.Errorf("%s: jwks_uri is not an https URL", address)
	}
	d.flawed = json.Unmarshal(body, &d.flow) != nil // tokens can be verified all the same
	return &d, nil
}

func (p provider) keySet(ctx context.Context, address string) (*keySet, error) {
	body, err := p.get(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	set, err := parseKeySet(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return set, nil
}

// get returns a document's body. header is added to the request.
func (p provider) get(ctx context.Context, address string, header http.Header) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json, application/jwk-set+json")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: answered %d", address, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if len(body) > maxDocument {
		return nil, fmt.Errorf("%s: answered more than %d bytes", address, maxDocument)
	}
	return body, nil
}

// checkIssuer returns an error if an issuer's URL is invalid.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || !safe(u) || strings.ContainsAny(issuer, "?#") {
		return errors.New("the issuer must be an https URL without user, query and fragment; http is only for loopback")
	}
	return nil
}

// safe reports whether a response from u is authentic: it comes over TLS, or from this machine.
func safe(u *url.URL) bool {
	return u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || (u.Scheme == "http" && isLoopback(u.Hostname())))
}

func loopback(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && a.IsLoopback())
}
