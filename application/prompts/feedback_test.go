package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectFeedback expects reports about the versions with these numbers, in this order, which all count.
func (s *mockedService) expectFeedback(by identity.Actor, numbers ...int) {
	s.feedback.EXPECT().AddFeedback(s.ctx, by, gomock.Any()).DoAndReturn(
		func(
			_ context.Context, _ identity.Actor, reports ...prompt.FeedbackReport,
		) (out []prompt.FeedbackOutcome, _ error) {
			var got []int
			for i := range reports {
				got = append(got, reports[i].Number)
				out = append(out, prompt.FeedbackOutcome{Version: reports[i].Version, Number: reports[i].Number})
			}
			if d := cmp.Diff(numbers, got); d != "" {
				return nil, fault.ErrInvalid.Because(d)
			}
			return out, nil
		})
}

func TestFeedbackIsReported(t *testing.T) {
	solved := func(ref, reader string) prompt.FeedbackRequest {
		return prompt.FeedbackRequest{Template: "tpl", Version: ref, Reader: reader, Name: "solved", Value: true}
	}
	label := prompt.Ref{Label: "live"}
	t.Run("a batch reads each version once, and one that is refused keeps no other from counting", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, prompt.Ref{Number: 1}, version(1))
		s.expectGetVersion(viewer, prompt.Ref{Number: 2}, version(2)) // a draft, which viewers do not see
		s.expectFeedback(viewer, 1, 1)
		invalid := solved("v1", "")
		invalid.Value = nil
		out, err := s.ReportFeedback(s.ctx, viewer, solved("v1", ""), solved("v2", ""), invalid, solved("v1", "ann"),
			solved("v2", ""))
		require.NoError(t, err)
		counts := prompt.FeedbackOutcome{Version: "ver1", Number: 1}
		assert.Equal(t, "first", out[0], counts)
		assert.ErrorIs(t, out[1].Refusal, prompt.ErrVersionNotFound)
		assert.ErrorIs(t, out[2].Refusal, fault.ErrInvalid)
		assert.Equal(t, "fourth", out[3], counts)
		assert.ErrorIs(t, out[4].Refusal, prompt.ErrVersionNotFound)
	})
	t.Run("a label counts for the version that its rollout chooses for the reader", func(t *testing.T) {
		s := newMocked(t)
		second := version(2)
		second.Frozen = true
		s.expectGetVersion(viewer, label, version(1))
		s.expectGetVersion(viewer, prompt.Ref{ID: "ver1"}, version(1))
		s.expectGetVersion(viewer, prompt.Ref{ID: "ver2"}, second)
		rollout := halves()
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{rollout}, nil)
		var numbers []int
		var requests []prompt.FeedbackRequest
		for _, reader := range []string{"ann", "bob", "cem", "dan", "eve", "fay"} {
			numbers = append(numbers, rollout.Choose(reader).Number)
			requests = append(requests, solved("live", reader))
		}
		s.expectFeedback(viewer, append(numbers, 1)...)
		out, err := s.ReportFeedback(s.ctx, viewer, append(requests, solved("live", ""))...)
		require.NoError(t, err)
		assert.Equal(t, "number", out[1].Number, numbers[1])
	})
	t.Run("a rollout whose version is gone counts for the version with the label", func(t *testing.T) {
		s := newMocked(t)
		rollout := halves()
		rollout.Parts = rollout.Parts[1:]
		s.expectGetVersion(viewer, label, version(1))
		s.expectGetVersion(viewer, prompt.Ref{ID: "ver2"}, nil)
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{rollout}, nil)
		s.expectFeedback(viewer, 1)
		_, err := s.ReportFeedback(s.ctx, viewer, solved("live", "ann"))
		require.NoError(t, err)
	})
	t.Run("a stranger learns nothing, and nothing is stored", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(stranger, prompt.Ref{Number: 1}, version(1))
		out, err := s.ReportFeedback(s.ctx, stranger, solved("v1", ""))
		require.NoError(t, err)
		assert.ErrorIs(t, out[0].Refusal, prompt.ErrNotFound)
	})
	t.Run("an outage counts nothing", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, gomock.Any(), gomock.Any()).Return(nil, nil, errOutage)
		_, err := s.ReportFeedback(s.ctx, viewer, solved("v1", ""))
		assert.ErrorIs(t, err, errOutage)

		s.expectGetVersion(viewer, label, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return(nil, errOutage)
		_, err = s.ReportFeedback(s.ctx, viewer, solved("live", "ann"))
		assert.ErrorIs(t, err, errOutage)

		s.expectGetVersion(viewer, label, version(1))
		s.feedback.EXPECT().AddFeedback(s.ctx, viewer, gomock.Any()).Return(nil, errOutage)
		_, err = s.ReportFeedback(s.ctx, viewer, solved("live", ""))
		assert.ErrorIs(t, err, errOutage)
	})
}

func TestFeedbackIsRead(t *testing.T) {
	today := prompt.DayOf(now)
	line := func(number int, count int64) prompt.FeedbackLine {
		return prompt.FeedbackLine{Version: version(number).ID, Number: number, Name: "solved",
			Kind: prompt.FeedbackBoolean, Day: today, Tally: prompt.Tally{Count: count,
				Values: map[string]int64{"true": count}}}
	}
	expect := func(s *mockedService, by identity.Actor, lines ...prompt.FeedbackLine) {
		s.feedback.EXPECT().Feedback(s.ctx, by.Workspace, prompt.ID("tpl"), "solved", today-6, gomock.Any()).
			Return(lines, nil)
	}
	week := prompts.FeedbackQuery{Name: "solved", Days: 7}
	t.Run("versions are compared with the base, and only editors read comments", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(owner)
		s.expectGetVersion(owner, prompt.Ref{Number: 1}, version(1))
		expect(s, owner, line(2, 100), line(1, 100))
		comments := []prompt.FeedbackComment{{Comment: "Good."}}
		s.feedback.EXPECT().FeedbackComments(s.ctx, owner.Workspace, prompt.ID("tpl"), "solved", today-6).
			Return(comments, nil)
		q := week
		q.Base = &prompt.Ref{Number: 1}
		out, err := s.Feedback(s.ctx, owner, "tpl", q, 2)
		require.NoError(t, err)
		if len(out.Lines) != 2 || !out.Complete || out.Base.ID != "ver1" || len(out.Versions[0].Differences) != 1 ||
			len(out.Versions[1].Differences) != 0 || len(out.Comments) != 1 {
			t.Errorf("feedback %+v", out)
		}
	})
	t.Run("without an active version nothing is compared, and more lines are reported", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(viewer)
		expect(s, viewer, line(2, 100), line(1, 100))
		out, err := s.Feedback(s.ctx, viewer, "tpl", week, 1)
		require.NoError(t, err)
		if len(out.Lines) != 1 || out.Complete || out.Base.ID != "" || len(out.Versions) != 2 ||
			len(out.Versions[0].Differences) != 0 || out.Comments != nil {
			t.Errorf("feedback %+v", out)
		}
	})
	t.Run("a stranger reads nothing, nor is an unknown base", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(stranger)
		_, err := s.Feedback(s.ctx, stranger, "tpl", week, 1)
		assert.ErrorIs(t, err, prompt.ErrNotFound)
		s.expectGet(viewer)
		s.expectGetVersion(viewer, prompt.Ref{Number: 9}, nil)
		_, err = s.Feedback(s.ctx, viewer, "tpl", prompts.FeedbackQuery{Days: 1, Base: &prompt.Ref{Number: 9}}, 1)
		assert.ErrorIs(t, err, prompt.ErrVersionNotFound)
	})
}
