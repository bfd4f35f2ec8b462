package embeds_test

import (
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnswersAreRated(t *testing.T) {
	asking := compatible
	asking.AskFeedback = true
	version := &chat.PromptVersion{Template: "tpl", Version: "ver", Number: 7}
	receiptOf := func(t *testing.T, s *replyStage) string {
		t.Helper()
		s.counts.EXPECT().Count(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).AnyTimes().Return(1, nil)
		a, err := s.ask(t.Context(), chat.Content{})
		require.NoError(t, err)
		text, err := a.Receipt()
		require.NoError(t, err)
		return text.Reveal()
	}
	rate := func(t *testing.T, s *replyStage, receipt string, isHelpful bool) error {
		t.Helper()
		e := s.embedding()
		e.Template.Reply = s.reply
		s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"), gomock.Any()).Return(
			map[embed.TokenID]*embed.Embedding{s.token.ID: e}, nil)
		return s.Rate(t.Context(), shopVisit(), s.session, receipt, isHelpful, unlimited)
	}
	t.Run("an answer has a receipt only if the chat asks for ratings and has a prompt", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.version = version
		assert.Equal(t, "receipt without asking", receiptOf(t, s), "")
		assert.Equal(t, "receipt without a prompt", receiptOf(t, newReplyStage(t, asking)), "")
	})
	t.Run("a rating counts for the version that answered, and each answer once", func(t *testing.T) {
		s := newReplyStage(t, asking)
		s.version = version
		first, second := receiptOf(t, s), receiptOf(t, s)
		s.version = &chat.PromptVersion{Template: "tpl", Version: "next", Number: 8}
		var keys []string
		s.feedback.EXPECT().AddFeedback(gomock.Any(), gomock.Any(), gomock.Any()).Times(2).DoAndReturn(
			func(_ any, by identity.Actor, reports ...prompt.FeedbackReport) ([]prompt.FeedbackOutcome, error) {
				r := reports[0]
				keys = append(keys, r.Key)
				if by.Workspace != "acme" || r.Template != "tpl" || r.Version != "ver" || r.Number != 7 ||
					r.Name != prompt.ThumbsName || r.Value.Text != "true" || !r.At.Equal(embedAt) {
					t.Errorf("report %+v of %+v", r, by)
				}
				return []prompt.FeedbackOutcome{{}}, nil
			})
		require.NoError(t, rate(t, s, first, true))
		require.NoError(t, rate(t, s, second, true))
		if keys[0] == keys[1] || keys[0] == "" {
			t.Errorf("keys %q", keys)
		}
	})
	t.Run("what is no receipt of the chat is refused", func(t *testing.T) {
		s, other := newReplyStage(t, asking), newReplyStage(t, asking)
		s.version, other.version = version, version
		foreign := receiptOf(t, other)
		for _, text := range []string{"", "atr_x", s.session, foreign} {
			assert.ErrorIs(t, rate(t, s, text, true), embed.ErrAnswerNotFound)
		}
		valid := receiptOf(t, s)
		s.reply.AskFeedback = false
		assert.ErrorIs(t, rate(t, s, valid, true), embed.ErrAnswerNotFound)
	})
	t.Run("a refusal is told in words for visitors", func(t *testing.T) {
		s := newReplyStage(t, asking)
		s.version = version
		valid, outage := receiptOf(t, s), errors.New("away")
		for refusal, want := range map[error]error{prompt.ErrFeedbackReused: embed.ErrAnswerRated,
			prompt.ErrNotFound: embed.ErrAnswerNotFound, prompt.ErrFeedbackKind: prompt.ErrFeedbackKind} {
			s.feedback.EXPECT().AddFeedback(gomock.Any(), gomock.Any(), gomock.Any()).Return(
				[]prompt.FeedbackOutcome{{Refusal: refusal}}, nil)
			assert.ErrorIs(t, rate(t, s, valid, false), want)
		}
		s.feedback.EXPECT().AddFeedback(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		assert.ErrorIs(t, rate(t, s, valid, false), outage)
	})
}
