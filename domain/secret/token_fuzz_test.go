package secret_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/secret"
)

// FuzzParseToken looks for texts that are accepted but are not tokens: each token has one form, and
// changing one character makes it invalid.
func FuzzParseToken(f *testing.F) {
	genuine := secret.NewToken("atk_").Reveal()
	for _, s := range []string{genuine, "", "atk_", genuine[:len(genuine)-1], genuine + "0", strings.ToUpper(genuine),
		"ati_" + genuine[4:], "atk_" + strings.Repeat("0", 49), "atk_" + strings.Repeat("é", 25)} {
		f.Add(s, 0, byte('0'))
		f.Add(s, len(s)-1, byte('_'))
	}
	f.Fuzz(func(t *testing.T, s string, index int, other byte) {
		token, ok := secret.ParseToken("atk_", s)
		if !ok {
			return
		}
		if token.Reveal() != s || len(s) != len(genuine) || !strings.HasSuffix(s, token.Hint()) {
			t.Errorf("%q reads as a token of %d characters", s, len(token.Reveal()))
		}
		if _, ok := secret.ParseToken("ati_", s); ok {
			t.Errorf("%q is a token for two purposes", s)
		}
		if index < 0 || index >= len(s) || s[index] == other {
			return
		}
		// A CRC-32 distinguishes any two texts that differ in at most four adjacent bytes.
		if change := s[:index] + string([]byte{other}) + s[index+1:]; !strings.HasPrefix(change, "atk_") {
			return
		} else if _, ok := secret.ParseToken("atk_", change); ok {
			t.Errorf("%q and %q are both tokens", s, change)
		}
	})
}
