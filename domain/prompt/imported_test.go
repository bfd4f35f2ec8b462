package prompt_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestInOrder(t *testing.T) {
	p := func(name, text string) prompt.Imported {
		return prompt.Imported{Draft: prompt.Draft{Name: name},
			Versions: []prompt.VersionDraft{{Content: prompt.Content{Text: text, Format: prompt.Mustache}}}}
	}
	for name, tt := range map[string]struct {
		all  []prompt.Imported
		want []int
	}{
		"what is included comes first": {[]prompt.Imported{p("a", "{{> b}}"), p("b", "{{> C@v1}}"), p("c", "")}, []int{2, 1, 0}},
		"others keep their order":      {[]prompt.Imported{p("a", "{{> elsewhere}}"), p("b", "{{broken"), p("c", "")}, []int{0, 1, 2}},
		"a cycle ends":                 {[]prompt.Imported{p("a", "{{> b}}"), p("b", "{{> a}}")}, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualSlice(t, "order", prompt.InOrder(tt.all), tt.want)
		})
	}
}
