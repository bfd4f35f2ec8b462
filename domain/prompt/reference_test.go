package prompt_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestBothOwnersLearnThatAReferenceLostItsPrompt(t *testing.T) {
	by := identity.System("org", "acme", "test", owner.At)
	for holder, want := range map[string][]string{
		"ctpl_1": {"chat_template.degraded ctpl_1 map[owner_id:ann prompt_template_id:ptpl_2]",
			"prompt_template.reader_lost ptpl_2 map[owner_id:ann used_by:ctpl_1]"},
		"ptpl_1": {"prompt_template.degraded ptpl_1 map[owner_id:ann prompt_template_id:ptpl_2]",
			"prompt_template.reader_lost ptpl_2 map[owner_id:ann used_by:ptpl_1]"},
	} {
		var got []string
		for _, e := range (prompt.Reference{Holder: holder, Template: "ptpl_2", Ref: "active"}).Lost(by, "ann") {
			got = append(got, fmt.Sprint(e.Type, " ", e.Subject, " ", e.Data))
		}
		assert.EqualSlice(t, "the events are", got, want)
	}
}
