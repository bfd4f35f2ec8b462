package oidc_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// TestMutations changes genuine tokens a little: none of the results is one.
func TestMutations(t *testing.T) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		t.Run("of "+alg, func(t *testing.T) {
			issuer := fixture.NewIssuer(t, alg)
			verifier := newVerifier()
			genuine := issuer.Token(issuer.Claims(app, noon))
			ctx := t.Context()
			got, err := verifier.Verify(t.Context(), issuers(issuer), genuine, noon)
			accepted(t, got, err)
			refuse := func(t interface{ Fatalf(string, ...any) }, token string) {
				if c, err := verifier.Verify(ctx, issuers(issuer), token, noon); c != nil ||
					!errors.Is(err, identity.ErrUnauthenticated) {
					t.Fatalf("%q was answered %+v, %v", token, c, err)
				}
			}
			for _, c := range alphabet { // the last character holds bits that Go's decoder would let pass
				if change := genuine[:len(genuine)-1] + string(c); change != genuine {
					refuse(t, change)
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				if change := mutated(t, genuine); change != genuine {
					refuse(t, change)
				}
			})
		})
	}
}

func mutated(t *rapid.T, token string) string {
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		index := rapid.IntRange(0, len(token)-1).Draw(t, "at")
		end := rapid.IntRange(index+1, len(token)).Draw(t, "to")
		text := rapid.StringOfN(rapid.SampledFrom([]rune(alphabet+".=\n\r +/\x00é")), 1, 4, -1).Draw(t, "text")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			token = token[:index] + text + token[index:]
		case 1:
			token = token[:index] + text + token[min(len(token), index+len(text)):]
		case 2:
			token = token[:index] + token[end:] + text[:1]
		case 3:
			token = token[:end] + token[index:]
		case 4:
			parts := strings.Split(token, ".")
			parts = rapid.Permutation(parts).Draw(t, "parts")
			token = strings.Join(parts, ".")
		case 5:
			token = token[:index] + string(token[index]^1<<rapid.IntRange(0, 7).Draw(t, "bit")) + token[index+1:]
		}
	}
	return token
}

// FuzzVerify looks for a text that is taken for a token, or brings the verifier down.
func FuzzVerify(f *testing.F) {
	issuer := fixture.NewIssuer(f, "EdDSA")
	verifier := newVerifier()
	genuine := issuer.Token(issuer.Claims(app, noon))
	stranger := fixture.NewSigningKey(f, "EdDSA", "key-1").Private
	header := func(h map[string]any) string {
		return fixture.SignToken(f, h, issuer.Claims(app, noon), stranger)
	}
	for _, seed := range []string{
		genuine, "", "..", "e30.e30.", "e30.e30.e30", genuine[:len(genuine)-1], genuine + ".",
		strings.Repeat("a.", 8<<10),
		header(map[string]any{"alg": "none"}), header(map[string]any{"alg": "EdDSA", "kid": "key-1"}),
		header(map[string]any{"alg": "EdDSA"}),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
		if token == genuine {
			accepted(t, c, err)
			return
		}
		refused(t, c, err)
	})
}
