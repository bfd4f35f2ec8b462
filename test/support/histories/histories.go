// Package histories draws messages as applications insert them for a prompt's placeholders.
package histories

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// values have spellings that a decoder and an encoder would change.
var values = []string{"null", "true", `""`, "1.0", "1e2", "-0", "9007199254740993", `"\u00fc\/"`,
	`"<&>` + "\u2028" + `"`, `"{{x}}"`}

// Draw draws a list of messages as JSON without spaces: objects with any members.
func Draw(t *rapid.T) []string {
	list := make([]string, rapid.IntRange(1, 4).Draw(t, "messages"))
	for i := range list {
		list[i] = object(t, 3)
	}
	return list
}

func value(t *rapid.T, depth int) string {
	if kind := rapid.IntRange(0, 2).Draw(t, "kind"); depth > 0 && kind == 1 {
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = value(t, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	} else if depth > 0 && kind == 2 {
		return object(t, depth)
	}
	return rapid.SampledFrom(values).Draw(t, "value")
}

func object(t *rapid.T, depth int) string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"z", "content", "tool_calls", "a", "name", "type", "é"}),
		0, 4, rapid.ID).Draw(t, "names")
	members := make([]string, len(names), len(names)+1)
	for i, name := range names {
		members[i] = fmt.Sprintf("%q:%s", name, value(t, depth-1))
	}
	if rapid.Bool().Draw(t, "has a role") {
		members = append(members, `"role":"assistant"`)
	}
	return "{" + strings.Join(members, ",") + "}"
}
