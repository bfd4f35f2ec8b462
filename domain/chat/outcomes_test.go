package chat_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestATemplateFailsAfterFiveFailedRepliesInARow(t *testing.T) {
	failed := func(n int) chat.Outcomes { return chat.Outcomes{Failures: n, Code: "auth_failed"} }
	const failing, recovered = "chat_template.replies_failing", "chat_template.replies_recovered"
	for name, tt := range map[string]struct {
		outcomes  []chat.Outcomes
		failures  int
		isFailing bool
		events    []string
	}{
		"four failures do not count": {[]chat.Outcomes{failed(3), failed(1)}, 4, false, nil},
		"the fifth does":             {[]chat.Outcomes{failed(4), failed(1)}, 5, true, []string{failing}},
		"many at once do":            {[]chat.Outcomes{failed(40)}, 5, true, []string{failing}},
		"it is said once":            {[]chat.Outcomes{failed(9), failed(9)}, 5, true, []string{failing}},
		"a success between them starts again": {
			[]chat.Outcomes{failed(4), {Succeeded: true}, failed(4)}, 4, false, nil},
		"a success before the failures, too": {
			[]chat.Outcomes{failed(4), {Succeeded: true, Failures: 1, Code: "x"}}, 1, false, nil},
		"a success ends it": {
			[]chat.Outcomes{failed(5), {Succeeded: true}}, 0, false, []string{failing, recovered}},
		"a success without failures is silent": {[]chat.Outcomes{{Succeeded: true}}, 0, false, nil},
		"a revoked connection counts at once": {
			[]chat.Outcomes{{Failures: 1, Code: "connection_revoked"}}, 1, true, []string{failing}},
	} {
		t.Run(name, func(t *testing.T) {
			c := sharedTemplate()
			for _, o := range tt.outcomes {
				c.Replied(owner, o)
			}
			if c.Replies.Failures != tt.failures || c.Replies.FailingSince.IsZero() == tt.isFailing {
				t.Errorf("%+v", c.Replies)
			}
			assert.Equal(t, "revision", c.Revision, 7)
			recorded(t, c, owner, tt.events...)
			isIssue := false
			for _, issue := range registry(t).Issues(new(c.Summary())) {
				isIssue = isIssue || issue.Code == "replies_failing"
			}
			assert.Equal(t, "is an issue", isIssue, tt.isFailing)
		})
	}
}

func TestOutcomesAreJoinedInTheirOrder(t *testing.T) {
	success, failure := chat.Outcomes{Succeeded: true}, chat.Outcomes{Failures: 1, Code: "a"}
	for name, tt := range map[string]struct{ got, want chat.Outcomes }{
		"failures add up": {
			failure.Then(chat.Outcomes{Failures: 2, Code: "b"}), chat.Outcomes{Failures: 3, Code: "b"}},
		"a success ends failures":     {failure.Then(success), success},
		"failures follow a success":   {success.Then(failure), chat.Outcomes{Succeeded: true, Failures: 1, Code: "a"}},
		"nothing follows":             {failure.Then(chat.Outcomes{}), failure},
		"a later success counts only": {failure.Then(success.Then(failure)), success.Then(failure)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, tt.got, tt.want)
		}
	}
}
