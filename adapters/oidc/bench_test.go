package oidc_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// BenchmarkVerify compares a token that must be verified with one that just was.
func BenchmarkVerify(b *testing.B) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		issuer := fixture.NewIssuer(b, alg)
		configured := issuers(issuer)
		b.Run(alg+"/uncached", func(b *testing.B) {
			claims := issuer.Claims(app, noon)
			claims["exp"] = noon.Unix() // valid only by the skew, so it is never cached
			verifier, token := newVerifier(), issuer.Token(claims)
			for b.Loop() {
				if _, err := verifier.Verify(b.Context(), configured, token, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(alg+"/cached", func(b *testing.B) {
			verifier, token := newVerifier(), issuer.Token(issuer.Claims(app, noon))
			for b.Loop() {
				if _, err := verifier.Verify(b.Context(), configured, token, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
