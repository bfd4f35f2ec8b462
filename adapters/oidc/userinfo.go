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

// complete adds what the provider's UserInfo endpoint says about a person whose ID token has no e-mail address. In the
// code flow, claims that were asked for by a scope come from there (OpenID Connect Core 1.0, section 5.4); many
// providers have them in the ID token too. Claims of the ID token stay as they are.
func (c *Client) complete(ctx context.Context, d *document, accessToken string, of *account.Claims) error {
	if of.Email != "" || d.flow.UserInfo == "" || accessToken == "" {
		return nil
	}
	u, err := url.Parse(d.flow.UserInfo)
	if err != nil || !safe(u) || u.Scheme == "http" && !loopback(d.Issuer) {
		return errors.New("its address is not an https URL")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := c.verifier.provider.get(ctx, d.flow.UserInfo, http.Header{"Authorization": {"Bearer " + accessToken}})
	if err != nil {
		return err
	}
	var more map[string]any
	if json.Unmarshal(body, &more) != nil {
		return errors.New("its response is not a JSON object")
	}
	if more["sub"] != of.Subject { // section 5.3.2: the response of another person must not be used
		return errors.New("its response is about another subject than the ID token")
	}
	maps.Copy(more, of.Raw)
	completed, err := read(more)
	if err != nil {
		return err
	}
	of.Raw, of.Email, of.EmailVerified, of.Name = more, completed.Email, completed.EmailVerified, completed.Name
	return nil
}
