package oidc_test

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestKeys publishes keys of all sorts beside a good one, which must not suffer from them.
func TestKeys(t *testing.T) {
	issuer := fixture.NewIssuer(t, "ES256")
	good := issuer.Key().JWK()
	rsaKey, ecKey := fixture.NewSigningKey(t, "RS256", "odd"), fixture.NewSigningKey(t, "ES256", "odd")
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	agreement, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString
	call := func(key fixture.SigningKey, name string, value any) map[string]any {
		jwk := maps.Clone(key.JWK())
		if jwk[name] = value; value == nil {
			delete(jwk, name)
		}
		return jwk
	}
	secret, err := ecKey.Private.(*ecdsa.PrivateKey).Bytes()
	require.NoError(t, err)
	smallKey := fixture.SigningKey{ID: "odd", Alg: "RS256", Private: small}
	tests := map[string]struct {
		published map[string]any
		by        fixture.SigningKey
		ok        bool
		why       string // in the finding, if it is not used
	}{
		"one without use":              {call(rsaKey, "use", nil), rsaKey, true, ""},
		"one without alg":              {call(rsaKey, "alg", nil), rsaKey, true, ""},
		"one whose operation fits":     {call(rsaKey, "key_ops", []string{"verify"}), rsaKey, true, ""},
		"one for encryption":           {call(rsaKey, "use", "enc"), rsaKey, false, "not for signatures"},
		"one only for signing":         {call(rsaKey, "key_ops", []string{"sign"}), rsaKey, false, "not for verifying"},
		"one for RS512":                {call(rsaKey, "alg", "RS512"), rsaKey, false, "not for RS256"},
		"one for PS256":                {call(rsaKey, "alg", "PS256"), rsaKey, false, "not for RS256"},
		"one for key wrapping":         {call(rsaKey, "alg", "RSA-OAEP"), rsaKey, false, "not for RS256"},
		"one of 1024 bits":             {smallKey.JWK(), smallKey, false, "too small"},
		"one of 16384 bits":            {call(rsaKey, "n", text([]byte(strings.Repeat("\xff", 2048)))), rsaKey, false, "16384 bits"},
		"an even exponent":             {call(rsaKey, "e", text([]byte{2})), rsaKey, false, "malformed"},
		"one off its curve":            {call(ecKey, "x", text(make([]byte, 32))), ecKey, false, "malformed"},
		"one of another curve":         {fixture.SigningKey{ID: "odd", Alg: "ES384", Private: wide}.JWK(), ecKey, false, "not on the curve P-256"},
		"one that claims another":      {call(ecKey, "crv", "P-384"), ecKey, false, "malformed"},
		"a private one":                {call(ecKey, "d", text(secret)), ecKey, false, "not a public key"},
		"a secret":                     {map[string]any{"kty": "oct", "kid": "odd", "k": text([]byte("secret"))}, ecKey, false, "not a public key"},
		"one to agree upon keys":       {map[string]any{"kty": "OKP", "crv": "X25519", "kid": "odd", "x": text(agreement.PublicKey().Bytes())}, ecKey, false, "neither RSA"},
		"one of a kind yet to come":    {map[string]any{"kty": "AKP", "alg": "ML-DSA-65", "kid": "odd", "pub": "AAAA"}, ecKey, false, "not supported"},
		"one that is no object at all": {map[string]any{}, ecKey, false, "malformed"},
		"one of another id":            {call(ecKey, "kid", "even"), ecKey, false, ""},
		"one without an id":            {call(ecKey, "kid", nil), ecKey, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			issuer.Publish(tt.published, good)
			verifier := newVerifier()
			token := fixture.SignToken(t, map[string]any{"alg": tt.by.Alg, "kid": "odd"}, issuer.Claims(app, noon),
				tt.by.Private)
			got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
			if tt.ok {
				accepted(t, got, err)
			} else {
				refused(t, got, err)
			}
			got, err = verifier.Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims(app, noon)), noon)
			accepted(t, got, err)

			found := verifier.Diagnose(t.Context(), identity.Issuer{URL: issuer.URL, Audiences: []string{app}}, "")
			if last := found[len(found)-1]; last.Check != "keys" || !last.OK || !strings.Contains(last.Note, tt.why) ||
				strings.Contains(last.Note, "not used") != (tt.why != "") {
				t.Errorf("finding = %+v, want %q in it", last, tt.why)
			}
		})
	}
}
