package oidc_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestReasonSaysWhyATokenIsRefused(t *testing.T) {
	issuer, stranger := fixture.NewIssuer(t, "ES256"), fixture.NewIssuer(t, "ES256")
	verifier := newVerifier()
	claims := func(name string, value any) string {
		c := issuer.Claims(app, noon)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return issuer.Token(c)
	}
	several := func(party any) string {
		c := issuer.Claims(app, noon)
		if c["aud"], c["azp"] = []string{"other", app}, party; party == nil {
			delete(c, "azp")
		}
		return issuer.Token(c)
	}
	sign := func(alg, kid, typ string) string {
		header := map[string]any{"alg": alg, "kid": kid}
		if typ != "" {
			header["typ"] = typ
		}
		return fixture.SignToken(t, header, issuer.Claims(app, noon), fixture.NewSigningKey(t, "ES256", "x").Private)
	}
	unsignedText := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + ".e30."
	for want, token := range map[string]string{
		"no JWT: that has three parts":                                         "garbage",
		"no JWT: its header is not JSON":                                       "!.e30.",
		"larger than 16 KiB":                                                   strings.Repeat("x", 17<<10),
		`(alg) is "none"; accepted are RS256`:                                  unsignedText,
		`(typ) is "logout+jwt"`:                                                sign("ES256", issuer.Key().ID, "logout+jwt"),
		fmt.Sprintf("(iss) %q is none", stranger.URL):                          stranger.Token(stranger.Claims(app, noon)),
		`(aud) ["elsewhere"]; configured are ["atrium"]`:                       claims("aud", "elsewhere"),
		`authorized party (azp) "" is none of those configured: ["atrium"]`:    several(nil),
		`authorized party (azp) "spa" is none of those configured: ["atrium"]`: several("spa"),
		`authorized party (azp) "other" is none`:                               several("other"),
		`(azp) "" is none of those`:                                            several([]string{app}),
		"(sub) is missing":                                                     claims("sub", nil),
		"when it ends (exp)":                                                   claims("exp", nil),
		"no number of seconds":                                                 claims("exp", "soon"),
		"(exp) at 2026-03-02T11:58:00Z; now is 2026-03-02T12:00:00Z":           claims("exp", noon.Add(-2*time.Minute).Unix()),
		"(nbf) 2026-03-02T12:02:00Z":                                           claims("nbf", noon.Add(2*time.Minute).Unix()),
		"(iat) in the future, at 2026-03-02T12:02:00Z":                         claims("iat", noon.Add(2*time.Minute).Unix()),
		`no ES256 key of the id (kid) "unheard-of"`:                            sign("ES256", "unheard-of", ""),
		"signature is not by the issuer's key":                                 sign("ES256", issuer.Key().ID, ""),
	} {
		t.Run(want, func(t *testing.T) {
			c, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
			refused(t, c, err)
			if got := oidc.Reason(err); !strings.Contains(got, want) || containsToken(got, token) {
				t.Errorf("the reason is %q", got)
			}
			if page := fmt.Sprintf("%v %+v %s", err, err, err); strings.Contains(page, want) {
				t.Errorf("printing the error shows %s", page)
			}
		})
	}
	assert.Equal(t, "the reason of another error", oidc.Reason(fmt.Errorf("another")), "")
}

// containsToken reports whether text quotes what only the token's bearer should have: its signature.
func containsToken(text, token string) bool {
	i := strings.LastIndexByte(token, '.')
	return i >= 0 && len(token)-i > 20 && strings.Contains(text, token[i+1:])
}
