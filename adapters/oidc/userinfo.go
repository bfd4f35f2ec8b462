package oidc

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/atrium-hq/atrium/domain/account"
)

// complete adds what the provider's UserInfo endpoint has about a person whose ID token has no e-mail address. In the
// code flow, claims that were asked for by a scope come from there (OpenID Connect Core 1.0, section 5.4); many
// providers have them in the ID token too. Claims of the ID token stay as they are.
func (c *Client) complete(ctx context.Context, d *document, accessToken string, claims *account.Claims) error {
	if claims.Email != "" || d.flow.UserInfo == "" || accessToken == "" {
		return nil
	}
	u, err := url.Parse(d.flow.UserInfo)
	if err != nil || !safe(u) || (u.Scheme == "http" && !loopback(d.Issuer)) {
		return errors.New("its address is not an https URL")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := c.verifier.provider.get(ctx, d.flow.UserInfo, http.Header{"Authorization": {"Bearer " + accessToken}})
	if err != nil {
		return err
	}
	var raw map[string]any
	if json.Unmarshal(body, &raw) != nil {
		return errors.New("its response is not a JSON object")
	}
	if raw["sub"] != claims.Subject { // section 5.3.2: another person's response must not be used
		return errors.New("its response is about another subject than the ID token")
	}
	maps.Copy(raw, claims.Raw)
	complete, err := read(raw)
	if err != nil {
		return err
	}
	claims.Raw, claims.Email, claims.EmailVerified, claims.Name = raw, complete.Email, complete.EmailVerified,
		complete.Name
	return nil
}
