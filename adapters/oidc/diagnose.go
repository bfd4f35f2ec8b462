package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Finding is one issuer check's result.
type Finding struct {
	Check string // issuer, audiences, discovery, client or keys
	OK    bool
	Note  string // one line for the operator of the deployment; no secret
}

// Diagnose runs checks in order, until one fails that the next depends on. It always queries the issuer itself, never
// the cache of Verify, and runs for at most 5 s. redirect is the redirect URI of the issuer's client.
func (v *Verifier) Diagnose(ctx context.Context, issuer identity.Issuer, redirect string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	findings := []Finding{finding("audiences", checkAudiences(issuer), strings.Join(issuer.Audiences, ", "))}
	err := checkIssuer(issuer.URL)
	if findings = append(findings, finding("issuer", err, issuer.URL)); err != nil {
		return findings
	}
	d, err := v.provider.discover(ctx, issuer.URL)
	if err != nil {
		return append(findings, finding("discovery", err, ""))
	}
	findings = append(findings, finding("discovery", nil, "keys are at "+d.JWKSURI))
	if issuer.Client != nil {
		findings = append(findings, d.finding(issuer.Client, redirect))
	}
	set, err := v.provider.keySet(ctx, d.JWKSURI)
	if err != nil {
		return append(findings, finding("keys", err, ""))
	}
	return append(findings, set.finding())
}

// finding reports whether people can sign in with a browser through the client, and what must be registered for it.
func (d *document) finding(client *identity.Client, redirect string) Finding {
	err := d.checkFlow()
	if err == nil {
		_, err = d.authStyle(client)
	}
	for _, scope := range client.Scopes {
		if err == nil && len(d.flow.Scopes) > 0 && !slices.Contains(d.flow.Scopes, scope) {
			err = fmt.Errorf("scopes_supported does not list %s", scope)
		}
	}
	if err == nil {
		err = checkRedirect(redirect)
	}
	note := "register the redirect URI " + redirect
	if len(d.flow.Challenges) == 0 {
		note += "; the provider does not say that it supports PKCE (S256)"
	}
	if d.flow.LogsOut {
		note += "; it supports back-channel logout: register " + strings.TrimSuffix(redirect, "callback") + "logout"
	}
	return finding("client "+client.Name, err, note)
}

// checkRedirect returns an error if no browser can have a session at a redirect URI's address.
func checkRedirect(redirect string) error {
	if u, err := url.Parse(redirect); err != nil || !safe(u) {
		return fmt.Errorf("the redirect URI %s is not https: set base_url of the org", redirect)
	}
	return nil
}

func finding(check string, err error, note string) Finding {
	if err != nil {
		return Finding{check, false, err.Error()}
	}
	return Finding{check, true, note}
}

func checkAudiences(issuer identity.Issuer) error {
	if len(issuer.Audiences) == 0 {
		return errors.New("none is configured: no token of this issuer is accepted")
	}
	for i, a := range issuer.Audiences {
		if a == "" {
			return fmt.Errorf("the audience at index %d is empty, and matches nothing", i)
		}
	}
	return nil
}

// finding reports which keys can be used, and why the others cannot.
func (s *keySet) finding() Finding {
	var notes []string
	for _, k := range s.keys {
		notes = append(notes, k.alg)
	}
	note := fmt.Sprintf("%d can be used", len(s.keys))
	if len(notes) > 0 {
		note += ": " + strings.Join(notes, ", ")
	}
	if err := errors.Join(s.refused...); err != nil {
		note += "; not used: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return Finding{"keys", len(s.keys) > 0, note}
}
