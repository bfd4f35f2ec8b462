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
		"a page": {embed.Question{Text: "?", Conversation: "0f-A_", Page: "https://www.shop.example/a?b=c"}, nil},
		"a page of another site": {embed.Question{Text: "?", Page: "https://evil.example/"},
			[]string{"/page_url invalid_format"}},
		"a page with a password": {embed.Question{Text: "?", Page: "https://a:b@www.shop.example/"},
			[]string{"/page_url invalid_format"}},
		"a script": {embed.Question{Text: "?", Conversation: "a b", Page: "javascript:alert(1)"},
			[]string{"/conversation_id invalid_format", "/page_url invalid_format"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualSlice(t, "wrongFields", wrongFields(t, tt.question.Check("https://www.shop.example")), tt.want)
		})
	}
}
