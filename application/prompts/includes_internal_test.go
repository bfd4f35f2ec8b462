package prompts

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestVersionsOfATransactionHaveEightMiBWithTheirIncludes adds versions until one does not fit.
func TestVersionsOfATransactionHaveEightMiBWithTheirIncludes(t *testing.T) {
	for name, tt := range map[string]struct {
		size, includes, fit int
	}{
		"long texts":                          {250_000, 10, 33},
		"short texts count 1 KiB each":        {50, 50, 163},
		"a text counts in full above its KiB": {1_000_000, 50, 8},
	} {
		t.Run(name, func(t *testing.T) {
			room, fit := newIncludeRoom(), 0
			e := prompt.Expansion{Content: prompt.Content{Text: strings.Repeat("x", tt.size)}}
			for room.holds(e, tt.includes) {
				fit++
			}
			assert.Equal(t, "versions", fit, tt.fit)
		})
	}
}
