package oidc

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

const (
	logoutEvent  = "http://schemas.openid.net/event/backchannel-logout"
	logoutMaxAge = 5 * time.Minute // of a logout token, whatever its expiry (exp)
	maxTokenID   = 255             // bytes of a logout token's jti
)

// logoutTypes are the accepted values for a logout token's typ.
var logoutTypes = []string{"", "jwt", "logout+jwt"}

// Logout implements ports.OpenIDClient.
func (c *Client) Logout(
	ctx context.Context, issuers []identity.Issuer, token string, now time.Time,
) (*session.Logout, error) {
	l, err := c.logout(ctx, issuers, token, now)
	if errors.Is(err, identity.ErrUnauthenticated) {
		err = session.ErrLogoutToken
	}
	return l, err
}

// logout verifies a logout token for one of the issuers that have a client.
func (c *Client) logout(
	ctx context.Context, issuers []identity.Issuer, text string, now time.Time,
) (*session.Logout, error) {
	if len(text) > maxToken {
		return nil, refused("it is larger than %d KiB", maxToken>>10)
	}
	t, err := parse(text, logoutTypes, readLogout)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(issuers, func(i identity.Issuer) bool { return i.Client != nil && i.URL == t.claims.Issuer })
	if i < 0 {
		return nil, refused("its issuer (iss) has no client here")
	}
	meant := identity.Issuer{URL: issuers[i].URL, Audiences: []string{issuers[i].Client.ID}}
	if _, err := t.claims.acceptedBy(meant, now); err != nil {
		return nil, err
	}
	l, err := t.claims.logout()
	if err != nil {
		return nil, err
	}
	if _, err := c.verifier.verifySignature(ctx, meant.URL, t, now); err != nil {
		return nil, err
	}
	return l, nil
}

// readLogout extracts the claims that decide whether a logout token is accepted. Unlike other tokens it may have no
// subject and no expiry.
func readLogout(raw map[string]any) (claims, error) {
	c := claims{Claims: account.Claims{Raw: raw}}
	var exp, iat bool
	c.ExpiresAt, exp = date(raw, "exp")
	c.IssuedAt, iat = date(raw, "iat")
	c.Issuer, _ = raw["iss"].(string)
	c.audiences = audiences(raw["aud"])
	c.party, _ = raw["azp"].(string)
	if !exp || !iat || c.IssuedAt.IsZero() || c.Issuer == "" {
		return c, refused("it does not say who issued it, or when")
	}
	if oldest := c.IssuedAt.Add(logoutMaxAge); c.ExpiresAt.IsZero() || c.ExpiresAt.After(oldest) {
		c.ExpiresAt = oldest
	}
	return c, nil
}

// logout returns what a logout token's claims say.
func (c claims) logout() (*session.Logout, error) {
	events, _ := c.Raw["events"].(map[string]any)
	_, isLogout := events[logoutEvent].(map[string]any)
	id, _ := c.Raw["jti"].(string)
	l := &session.Logout{TokenID: id, ProviderSession: session.ProviderSession{Issuer: c.Issuer}}
	_, hasNonce := c.Raw["nonce"]
	switch {
	case !isLogout:
		return nil, refused("its events name no logout")
	case hasNonce:
		return nil, refused("it has a nonce, which only ID tokens have")
	case id == "" || len(id) > maxTokenID:
		return nil, refused("its id (jti) is missing, or too long")
	}
	for name, target := range map[string]*string{"sub": &l.Subject, "sid": &l.ID} {
		v, isSet := c.Raw[name]
		if !isSet {
			continue
		}
		if *target, _ = v.(string); !validSubject(*target) {
			return nil, refused("its %s is not valid", name)
		}
	}
	if l.Subject == "" && l.ID == "" {
		return nil, refused("it names neither a subject (sub) nor a session (sid)")
	}
	return l, nil
}
