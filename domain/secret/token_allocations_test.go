package secret_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Each request parses and hashes a token.
func TestParsingAndHashingATokenAllocatesOnlyItsCopy(t *testing.T) {
	text := secret.NewToken("atk_").Reveal()
	got := testing.AllocsPerRun(100, func() {
		token, ok := secret.ParseToken("atk_", text)
		if !ok {
			t.Fatal("refused")
		}
		_ = token.Hash()
	})
	if got > 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
