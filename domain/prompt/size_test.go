package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/mustache"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestQuotedSizeIsThatOfTheJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(rapid.Rune(),
			rapid.RuneFrom([]rune("\"\\\b\t\n\v\f\r\x00\x1f\x7f<>&\u2027\u2028\u2029\u202a")))).Draw(t, "text")
		if want, err := mustache.Encode(s); err != nil || quotedSize(s) != len(want) {
			t.Fatalf("%q takes %d, want %d", s, quotedSize(s), len(want))
		}
	})
}

func TestContentIsBoundedAsAWhole(t *testing.T) {
	large := func(n int) json.RawMessage { return json.RawMessage(`[{"x":"` + strings.Repeat("x", n-10) + `"}]`) }
	content := func(text string) Content {
		return Content{
			Text: text, Tools: large(MaxJSONBytes),
			ResponseFormat: json.RawMessage(`{"a":` + string(large(MaxJSONBytes-6)) + `}`),
			Variables: []Variable{
				{Name: "a", Type: "string", Description: strings.Repeat("x", MaxVariablesBytes-64)}},
			Model: &ModelConfig{ExtraParams: map[string]any{"x": strings.Repeat("x", MaxExtraBytes-8)}},
		}
	}
	t.Run("the largest of every part fits", func(t *testing.T) {
		if c, err := content(strings.Repeat("x", MaxTextBytes)).checked(Text, true); err != nil ||
			c.Size() > MaxContentBytes {
			t.Errorf("%d bytes: %+v", c.Size(), err)
		}
	})
	t.Run("a text that is larger as JSON may not", func(t *testing.T) {
		_, err := content(strings.Repeat("\x01", MaxTextBytes)).checked(Text, true)
		assert.Equal(t, "Join", strings.Join(complaint(t, err), ", "), "invalid_fields,  too_long")
	})
	t.Run("each part has a limit of its own, after a merge too", func(t *testing.T) {
		c := content("x")
		c.Tools, c.Variables[0].Description = append(c.Tools, ' '), c.Variables[0].Description+"x"
		c.Model.ExtraParams["y"] = 1
		_, err := c.checked(Text, true)
		if got := strings.Join(complaint(t, err), ", "); got != "invalid_fields, /variables too_long, "+
			"/model_config/extra_params too_long, /tools too_long" {
			t.Errorf("got %q", got)
		}
	})
}
