package sqlstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Texts are written below the stores, which would refuse some of them.
var storedTexts = []string{
	"", " ", ":", "12:", "3:abc", "a\"b\\c", "<b>&", "é🍵\u2028", "line\nbreak\ttab\r", "x,y\",\"z",
	"\x01\x7f", "0 1 t f ",
}

func TestAListHasTheTextsThatAreStored(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s, direct := db.Stores(), databases.Raw(t, url)
		by := fixture.NewTeam(t, s, orgs["one"]).Member
		p, c := fixture.Template(t, s, by, prompt.Draft{}), fixture.Chat(t, s, by, chat.Draft{})
		first := page.Query{Limit: 1}
		for _, text := range storedTexts {
			if _, err := direct.ExecContext(t.Context(), `UPDATE prompt_templates SET description = $1, metadata = $1`,
				text); err != nil {
				t.Fatal(err)
			}
			if _, err := direct.ExecContext(t.Context(), `UPDATE chat_templates SET greeting = $1, name = $1`,
				text); err != nil {
				t.Fatal(err)
			}
			prompts, err := s.PromptLists.Visible(t.Context(), by, prompt.Filter{}, first)
			require.NoError(t, err)
			one, err := s.Prompts.Get(t.Context(), by, p.ID)
			isListed(t, prompts.Items, *one, err)
			chats, err := s.ChatLists.Visible(t.Context(), by, chat.Filter{}, first)
			require.NoError(t, err)
			other, err := s.Chats.Get(t.Context(), by, c.ID)
			isListed(t, chats.Items, other.Summary(), err)
			if chats.Items[0].Greeting != text || prompts.Items[0].Description != text {
				t.Errorf("%q is listed as %q and %q", text, prompts.Items[0].Description, chats.Items[0].Greeting)
			}
		}
	})
}

// isListed fails t unless a list has one item, as it is read by itself.
func isListed[T any](t *testing.T, list []T, want T, err error) {
	t.Helper()
	require.NoError(t, err)
	if d := cmp.Diff([]T{want}, list, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(event.Log{})); d != "" {
		t.Errorf("(-alone +in the list)\n%s", d)
	}
}
