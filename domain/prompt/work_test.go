package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/mustache"
	"github.com/atrium-hq/atrium/test/support/require"
)

// These tests count work instead of seconds: BenchmarkWorst shows how long a unit takes.

// spent returns the work of one render, and whether it was aborted.
func spent(t testing.TB, c Content, values map[string]any) (work int, givenUp bool) {
	t.Helper()
	parts, err := c.parse()
	require.NoError(t, err)
	r := mustache.NewRenderer()
	if _, errs, err := c.bind(values, map[string]any{}, r); err != nil || len(errs) > 0 {
		t.Fatalf("refused: %+v, %v", errs, err)
	}
	c.expect(r, parts)
	for _, p := range parts {
		if _, err := r.Render(p.body); err != nil {
			return mustache.MaxWork - r.Work, true
		}
	}
	return mustache.MaxWork - r.Work, false
}

func written(text string, variables ...Variable) Content {
	return Content{Text: text, Format: Mustache, Variables: variables}
}

func list(n int, item any) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = item
	}
	return items
}

func TestWorkDoesNotGrowWithHowANumberIsWritten(t *testing.T) {
	text := "{{#l}}{{#x}}{{/x}}{{^x}}{{/x}}{{x}}{{o}}{{/l}}"
	values := func(number string) map[string]any {
		return map[string]any{"l": list(100, true), "x": json.Number(number),
			"o": map[string]any{"n": json.Number(number)}}
	}
	short, _ := spent(t, written(text), values("1"))
	if long, _ := spent(t, written(text), values("1."+strings.Repeat("0", 60))); long != short {
		t.Errorf("1 takes %d, 1.000… takes %d", short, long)
	}
	// A version that was stored before there was a limit.
	old := func(zeros int) Content {
		return written(text, Variable{Name: "x", Type: "number",
			Default: json.RawMessage("1." + strings.Repeat("0", zeros))})
	}
	small, _ := spent(t, old(1), map[string]any{"l": list(100, true)})
	if count, _ := spent(t, old(60_000), map[string]any{"l": list(100, true)}); count != small {
		t.Errorf("a default of 1.0 takes %d, one of 1.000… takes %d", small, count)
	}
}

func TestWorkGrowsWithWhatIsTouched(t *testing.T) {
	deep := any("x")
	for range 50 {
		deep = map[string]any{"a": deep}
	}
	path := "a" + strings.Repeat(".a", 48)
	for name, tt := range map[string]struct {
		text         string
		little, much map[string]any
		times        int // as much work at least
	}{
		"a long list": {"{{#x}}{{/x}}", map[string]any{"x": list(10, true)},
			map[string]any{"x": list(1000, true)}, 20},
		"a long object": {"{{x}}", map[string]any{"x": map[string]any{}},
			map[string]any{"x": map[string]any{"a": strings.Repeat("x", 10_000)}}, 100},
		"a path into an item": {"{{#x}}{{" + path + "}}{{/x}}{{^" + path + "}}{{/" + path + "}}", map[string]any{"x": list(100, map[string]any{"a": 1})},
			map[string]any{"x": list(100, deep)}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			little, _ := spent(t, written(tt.text), tt.little)
			if muchCount, _ := spent(t, written(tt.text), tt.much); muchCount < tt.times*little {
				t.Errorf("%d and %d", little, muchCount)
			}
		})
	}
	t.Run("every tag of a text that prints nothing", func(t *testing.T) {
		one, _ := spent(t, written("{{x}}"), map[string]any{"x": ""})
		if count, _ := spent(t, written(strings.Repeat("{{x}}", 1000)), map[string]any{"x": ""}); count != 1000*one ||
			one == 0 {
			t.Errorf("one takes %d, a thousand take %d", one, count)
		}
	})
}

func TestAPromptOf1MiBThatAListMakesTakesHalfOfTheWork(t *testing.T) {
	text := "{{#l}}{{#l}}{{name}} is {{value}}; {{/l}}{{/l}}"
	work, givenUp := spent(t, written(text),
		map[string]any{"l": list(250, map[string]any{"name": "n", "value": json.Number("7")})})
	if givenUp || work > mustache.MaxWork/2 {
		t.Errorf("work = %d of %d", work, mustache.MaxWork)
	}
}
