package embeds_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestABusyTokenIsCountedSomeAnswersAtATime(t *testing.T) {
	s := newReplyStage(t, compatible)
	var requests []int
	rows := 0
	s.counts.EXPECT().Count(gomock.Any(), identity.OrgID("org"), s.token.ID, embed.Origin(embedSite),
		embed.DayOf(embedAt), gomock.Any(), 1000).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ embed.TokenID, _ embed.Origin, _ embed.Day, n, maximum int) (int,
			error) {
			n = min(n, 60-rows) // the last of the day
			requests, rows = append(requests, n), rows+n
			return n, nil
		})
	answers := 0
	for range 40 {
		_, err := s.ask(t.Context(), chat.Content{})
		require.NoError(t, err)
		answers++
	}
	if len(requests) != 6 || rows < answers {
		t.Errorf("%d answers were counted by %v", answers, requests)
	}
	unusedCount := rows - answers
	s.counts.EXPECT().Return(gomock.Any(), identity.OrgID("org"), s.token.ID, embed.Origin(embedSite),
		embed.DayOf(embedAt), unusedCount).DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ embed.TokenID, _ embed.Origin, _ embed.Day, n int) error {
			rows -= n
			return nil
		})
	require.NoError(t, s.Flush(t.Context()))
	require.ErrorIs(t, s.Flush(t.Context()), nil) // nothing is left
	var refusal error
	for refusal == nil && answers < 100 {
		if _, refusal = s.ask(t.Context(), chat.Content{}); refusal == nil {
			answers++
		}
	}
	require.ErrorIs(t, refusal, embed.ErrDailyReplies)
	assert.Equal(t, "were answered, 60 were allowed", answers, 60)
}

func TestAStrangerDoesNotUseUpTheRepliesOfOthers(t *testing.T) {
	s := newReplyStage(t, compatible)
	s.token.RepliesPerDay = 100
	rows := 0
	s.counts.EXPECT().Count(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ embed.TokenID, _ embed.Origin, _ embed.Day, n, maximum int) (int,
			error) {
			n = max(0, min(n, maximum-rows))
			rows += n
			return n, nil
		})
	replies := func(address string, requests int) (answers int) {
		t.Helper()
		for range requests {
			visit := shopVisit()
			visit.Address = address
			if _, err := s.askAs(t.Context(), visit, chat.Content{}); err == nil {
				answers++
			} else {
				require.ErrorIs(t, err, embed.ErrDailyReplies)
			}
		}
		return answers
	}
	if n := replies("stranger", 200); n < 40 || n > 60 {
		t.Errorf("a stranger got %d of 100 replies, want about half", n)
	}
	if n := replies("another stranger", 200); n > 20 {
		t.Errorf("another one got %d of the rest, want about a tenth of the day", n)
	}
	if n := replies("customer", 5); n != 5 {
		t.Errorf("a customer got %d of 5 replies", n)
	}
}

func TestAQuietTokenIsCountedOneByOne(t *testing.T) {
	s := newReplyStage(t, compatible)
	s.counts.EXPECT().Count(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), 1, 1000).
		Times(3).Return(1, nil)
	visit := shopVisit()
	for i := range 3 {
		e := s.embedding()
		e.Template.Reply = s.reply
		s.embeds.EXPECT().ByIDs(gomock.Any(), gomock.Any(), gomock.Any()).Return(
			map[embed.TokenID]*embed.Embedding{e.Token.ID: e}, nil)
		template := s.template()
		template.Reply = s.reply
		s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).Return(template, nil)
		visit.At = embedAt.Add(time.Duration(i) * 2 * time.Second)
		_, err := s.Ask(t.Context(), visit, s.session, embed.Question{Text: "Where?"}, unlimited)
		require.NoError(t, err)
	}
}
