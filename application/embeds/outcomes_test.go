package embeds_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// answers sends a message, to which the endpoint replies with an error or a text.
func (s *replyStage) answers(t *testing.T, ctx context.Context, failure error) {
	t.Helper()
	s.counts.EXPECT().Count(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes().Return(1, nil)
	s.counts.EXPECT().Return(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes()
	asking, err := s.ask(ctx, chat.Content{})
	require.NoError(t, err)
	s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).MaxTimes(1).DoAndReturn(
		func(_ context.Context, _ ports.Target, _ ports.ReplyRequest, yield func(embed.Piece) error) error {
			if failure != nil {
				return failure
			}
			return yield(embed.Piece{Part: embed.PartText, Text: "There."})
		})
	_ = asking.Answer(ctx, func(embed.Piece) error { return nil })
}

// writes expects that a flush changes the template, and returns it.
func (s *replyStage) writes(stored chat.ReplyRun, err error) *chat.Template {
	t := s.template()
	t.Replies = stored
	s.chats.EXPECT().Update(gomock.Any(), gomock.Any(), chat.ID("ctpl"), gomock.Any()).DoAndReturn(
		func(_ context.Context, by identity.Actor, _ chat.ID,
			change func(*chat.Template) error) (*chat.Template, error) {
			if err != nil || by.User != "" || by.Workspace != "acme" {
				return nil, errors.Join(err, errors.New(string(by.Workspace)))
			}
			return t, change(t)
		})
	return t
}

func TestFailedRepliesAreCountedByTheirCause(t *testing.T) {
	s := newReplyStage(t, compatible)
	for _, cause := range []error{errors.Join(embed.ReplyFailed, connection.AuthFailed), embed.ReplyEmpty,
		errors.Join(embed.ReplyFailed, connection.AuthFailed), errors.New("unknown")} {
		s.answers(t, t.Context(), cause)
	}
	s.refusal = connection.ErrRevoked
	s.answers(t, t.Context(), nil)
	got := map[string]int64{}
	s.uses.EXPECT().AddFailures(gomock.Any(), identity.OrgID("org"), s.token.ID, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ embed.TokenID, failures []embed.Failure) error {
			for _, f := range failures {
				assert.Equal(t, "day", f.Day, embed.DayOf(embedAt))
				got[f.Code] = f.Count
			}
			return nil
		})
	template := s.writes(chat.ReplyRun{}, nil)
	require.NoError(t, s.Flush(t.Context()))
	for code, n := range map[string]int64{"auth_failed": 2, "reply_empty": 1, "reply_failed": 1,
		"connection_revoked": 1} {
		assert.Equal(t, code, got[code], n)
	}
	if template.Replies.Failures != chat.FailingAfter || template.Replies.FailingSince != embedAt {
		t.Errorf("%+v", template.Replies)
	}
	require.NoError(t, s.Flush(t.Context())) // nothing is left
}

func TestASuccessIsWrittenOnlyAfterFailures(t *testing.T) {
	s := newReplyStage(t, compatible)
	s.answers(t, t.Context(), nil)
	require.NoError(t, s.Flush(t.Context())) // no store is called
	s = newReplyStage(t, compatible)
	s.replies = chat.ReplyRun{Failures: 5, Code: "auth_failed", FailingSince: embedAt}
	s.answers(t, t.Context(), nil)
	template := s.writes(s.replies, nil)
	require.NoError(t, s.Flush(t.Context()))
	if template.Replies != (chat.ReplyRun{}) || len(template.Recorded()) != 1 {
		t.Errorf("%+v, %+v", template.Replies, template.Recorded())
	}
}

func TestAVisitorWhoLeavesIsNoFailure(t *testing.T) {
	s := newReplyStage(t, compatible)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	s.answers(t, ctx, context.Canceled)
	require.NoError(t, s.Flush(t.Context()))
}

func TestOutcomesThatCannotBeWrittenStay(t *testing.T) {
	s := newReplyStage(t, compatible)
	s.answers(t, t.Context(), embed.ReplyTimeout)
	s.uses.EXPECT().AddFailures(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(errOutage)
	s.writes(chat.ReplyRun{}, errOutage)
	require.ErrorIs(t, s.Flush(t.Context()), errOutage)
	s.answers(t, t.Context(), embed.ReplyTimeout)
	s.uses.EXPECT().AddFailures(gomock.Any(), gomock.Any(), gomock.Any(),
		[]embed.Failure{{Day: embed.DayOf(embedAt), Code: "reply_timeout", Count: 2}})
	template := s.writes(chat.ReplyRun{}, nil)
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, "failures", template.Replies.Failures, 2)
}
