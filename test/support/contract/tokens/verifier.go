// Package tokens holds the suite of ports.Verifier.
package tokens

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Verifier is the suite for ports.Verifier. The adapter's own tests check the details of tokens and how often an issuer
// is asked.
func Verifier(t *testing.T, open func(*testing.T) ports.Verifier) {
	const app = "atrium"
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	trust := func(i *fixture.Issuer) []identity.Issuer {
		return []identity.Issuer{{URL: i.URL, Audiences: []string{"other", app}}}
	}
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		t.Run("a token signed with "+alg+" says who it is", func(t *testing.T) {
			issuer := fixture.NewIssuer(t, alg)
			c, err := open(t).Verify(t.Context(), trust(issuer), issuer.Token(issuer.Claims(app, noon)), noon)
			require.NoError(t, err)
			if c.Issuer != issuer.URL || c.Subject != "ann-1" || c.Email != "ann@example.com" || !c.EmailVerified ||
				c.Raw["sub"] != "ann-1" || c.IssuedAt != noon || c.ExpiresAt != noon.Add(time.Hour) {
				t.Fatalf("claims = %+v", c)
			}
		})
	}

	issuer, stranger, verifier := fixture.NewIssuer(t, "ES256"), fixture.NewIssuer(t, "ES256"), open(t)
	claims := func(name string, value any) string {
		c := issuer.Claims(app, noon)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return issuer.Token(c)
	}
	t.Run("every invalid token gets the same error, ErrUnauthenticated, without details", func(t *testing.T) {
		for name, token := range map[string]string{
			"no JWT": "garbage", "empty": "",
			"of an issuer that is not trusted": stranger.Token(stranger.Claims(app, noon)),
			"for another application":          claims("aud", "elsewhere"), "without an audience": claims("aud", nil),
			"without a subject":         claims("sub", nil),
			"with a NUL in its subject": claims("sub", "ann\x00"), "with a line break": claims("sub", "ann\n"),
			"with a control character of Latin 1": claims("sub", "ann\u0085"),
			"without an end":                      claims("exp", nil),
			"expired":                             claims("exp", noon.Add(-61*time.Second).Unix()),
			"not valid yet":                       claims("nbf", noon.Add(61*time.Second).Unix()),
			"issued in the future":                claims("iat", noon.Add(61*time.Second).Unix()),
			"signed by another key": fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": issuer.Key().ID},
				issuer.Claims(app, noon), fixture.NewSigningKey(t, "ES256", "x").Private),
		} {
			c, err := verifier.Verify(t.Context(), trust(issuer), token, noon)
			if c != nil || !errors.Is(err, identity.ErrUnauthenticated) ||
				err.Error() != identity.ErrUnauthenticated.Error() {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		}
	})
	t.Run("keys are fetched from trusted issuers only", func(t *testing.T) {
		if n := stranger.Requests("/.well-known/openid-configuration"); n != 0 {
			t.Errorf("an issuer that only a token names was asked %d times", n)
		}
	})
	t.Run("clocks may differ by a minute", func(t *testing.T) {
		for _, token := range []string{claims("exp", noon.Add(-59*time.Second).Unix()),
			claims("nbf", noon.Add(59*time.Second).Unix()), claims("iat", noon.Add(59*time.Second).Unix())} {
			if _, err := verifier.Verify(t.Context(), trust(issuer), token, noon); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("keys that were fetched once are used while the issuer is down", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		v, token := open(t), issuer.Token(issuer.Claims(app, noon))
		_, err := v.Verify(t.Context(), trust(issuer), token, noon)
		require.NoError(t, err)
		issuer.Answer(fixture.Failing)
		laterText := issuer.Token(issuer.Claims(app, noon.Add(time.Hour)))
		if _, err := v.Verify(t.Context(), trust(issuer), laterText, noon.Add(time.Hour)); err != nil {
			t.Error(err)
		}
	})
	t.Run("the error is ErrUnavailable if keys were never fetched", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		issuer.Answer(fixture.Failing)
		if _, err := open(t).Verify(t.Context(), trust(issuer), issuer.Token(issuer.Claims(app, noon)),
			noon); !errors.Is(err, ports.ErrUnavailable) {
			t.Errorf("error = %v, want ErrUnavailable", err)
		}
	})
	t.Run("the error is ErrUnavailable if the context ends while keys are fetched", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		issuer.Answer(fixture.Silent)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := open(t).Verify(ctx, trust(issuer), issuer.Token(issuer.Claims(app, noon)), noon); !errors.Is(err,
			ports.ErrUnavailable) {
			t.Errorf("error = %v, want ErrUnavailable", err)
		}
	})
	t.Run("a new key is fetched, and a withdrawn one is not accepted for ever", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		v, old := open(t), issuer.Token(issuer.Claims(app, noon))
		_, err := v.Verify(t.Context(), trust(issuer), old, noon)
		require.NoError(t, err)
		issuer.Rotate(fixture.NewSigningKey(t, "ES256", "next"))
		soon := noon.Add(time.Minute)
		if _, err := v.Verify(t.Context(), trust(issuer), issuer.Token(issuer.Claims(app, soon)), soon); err != nil {
			t.Errorf("the new key a minute later: %v", err)
		}
		if _, err := v.Verify(t.Context(), trust(issuer), old, noon.Add(5*time.Minute)); !errors.Is(err,
			identity.ErrUnauthenticated) {
			t.Errorf("the withdrawn key five minutes later: %v", err)
		}
	})
}
