package oidc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Finding is the result of one check of an issuer.
type Finding struct {
	Check string // issuer, audiences, discovery or keys
	OK    bool
	Note  string // one line for the operator of the deployment; no secret
}

// Diagnose runs checks in order, until one fails that the next depends on. It always asks the issuer itself,
// never the cache of Verify, and takes at most 5 s.
func (v *Verifier) Diagnose(ctx context.Context, issuer identity.Issuer) []Finding {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	findings := []Finding{finding("audiences", checkAudiences(issuer), strings.Join(issuer.Audiences, ", "))}
	err := checkIssuer(issuer.URL)
	if findings = append(findings, finding("issuer", err, issuer.URL)); err != nil {
		return findings
	}
	at, err := v.provider.discover(ctx, issuer.URL)
	if findings = append(findings, finding("discovery", err, "keys are at "+at)); err != nil {
		return findings
	}
	set, err := v.provider.keySet(ctx, at)
	if err != nil {
		return append(findings, finding("keys", err, ""))
	}
	return append(findings, set.finding())
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

// finding says which keys can be used, and why the others cannot.
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
