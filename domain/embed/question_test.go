package embed_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAQuestionIsBounded(t *testing.T) {
	long := strings.Repeat("ä", embed.MaxQuestion)
	for name, tt := range map[string]struct {
		question embed.Question
		want     []string
	}{
		"a question":      {embed.Question{Text: long, History: make([]embed.Turn, embed.MaxTurns)}, nil},
		"nothing":         {embed.Question{Text: " \n"}, []string{"/text too_short"}},
		"a long question": {embed.Question{Text: long + "ä"}, []string{"/text too_long"}},
		"a long history": {embed.Question{Text: "?", History: make([]embed.Turn, embed.MaxTurns+1)},
			[]string{"/history too_many_items"}},
		"long turns": {embed.Question{Text: "?", History: []embed.Turn{{}, {Question: long + "ä",
			Answer: strings.Repeat("ä", embed.MaxAnswer+1)}}},
			[]string{"/history/1/text too_long", "/history/1/answer too_long"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualSlice(t, "wrongFields", wrongFields(t, tt.question.Check()), tt.want)
		})
	}
}
