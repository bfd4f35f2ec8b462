package embeds_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAFinishedTurnIsForwardedIfTheChatHasTranscripts(t *testing.T) {
	pieces := []embed.Piece{{Part: embed.PartReasoning, Text: "Hm."}, {Part: embed.PartText, Text: "Over "},
		{Part: embed.PartText, Text: "there."}}
	answer := func(t *testing.T, s *replyStage, failure error, pieces ...embed.Piece) {
		t.Helper()
		s.expectCount(true)
		asking, err := s.ask(t.Context(), chat.Content{})
		require.NoError(t, err)
		s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ ports.Target, _ ports.ReplyRequest, yield func(embed.Piece) error) error {
				for _, p := range pieces {
					require.NoError(t, yield(p))
				}
				return failure
			})
		assert.ErrorIs(t, asking.Answer(t.Context(), func(embed.Piece) error { return nil }), failure)
	}
	t.Run("with the message, the whole answer, and whose they are", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.transcripts, s.version = "whk_1", &chat.PromptVersion{Template: "tpl", Version: "ver", Number: 7}
		answer(t, s, nil, pieces...)
		got := s.turns[0]
		if got.Question != "Where?" || got.Answer != "Over there." || got.Refused || got.Visitor != "42" ||
			got.Prompt != s.version || got.Template != "ctpl" || got.Token != s.token.ID || got.Workspace != "acme" ||
			got.Session == "" || got.Conversation != got.Session || got.ID == "" || got.Origin != embedSite ||
			got.At != embedAt {
			t.Errorf("the turn is %+v", got)
		}
	})
	t.Run("a refusal is named as such", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.transcripts = "whk_1"
		answer(t, s, nil, embed.Piece{Part: embed.PartRefusal, Text: "No."})
		if got := s.turns[0]; !got.Refused || got.Answer != "No." {
			t.Errorf("the turn is %+v", got)
		}
	})
	t.Run("nothing of a chat without transcripts, and no answer that failed", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		answer(t, s, nil, pieces...)
		assert.Equal(t, "turns without transcripts", len(s.turns), 0)
		s = newReplyStage(t, compatible)
		s.transcripts = "whk_1"
		answer(t, s, embed.ReplyTimeout, pieces...)
		assert.Equal(t, "turns that failed", len(s.turns), 0)
	})
	t.Run("one that is lost counts among the failures, and the chat stays healthy", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.transcripts = "whk_1"
		answer(t, s, nil, pieces...)
		s.lost[0]()
		s.counts.EXPECT().Return(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).AnyTimes()
		s.uses.EXPECT().AddFailures(gomock.Any(), gomock.Any(), s.token.ID,
			[]embed.Failure{{Day: embed.DayOf(embedAt), Code: "transcript_lost", Count: 1}})
		require.NoError(t, s.Flush(t.Context()))
	})
}
