package prompt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestTruth(t *testing.T) {
	for value, want := range map[string]string{
		`true`: "yes", `"x"`: "yes", `" "`: "yes", `"false"`: "yes", `1`: "yes", `-0.5`: "yes", `{}`: "yes",
		`[0]`: "yes", `[[]]`: "yes",
		`false`: "no", `null`: "no", `""`: "no", `0`: "no", `-0`: "no", `0.0`: "no", `[]`: "no",
	} {
		t.Run(value, func(t *testing.T) {
			exact := json.Number(value)
			all := []map[string]any{decode(t, `{"x":`+value+`}`)}
			if strings.Trim(value, "-0.5") == "" || value == "1" {
				all = append(all, map[string]any{"x": exact})
			}
			for _, values := range all {
				assert.Equal(t, "rendered", rendered(t, "{{#x}}yes{{/x}}{{^x}}no{{/x}}", values), want)
			}
		})
	}
}
