package prompts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCompare(t *testing.T) {
	one, two := prompt.Ref{Number: 1}, prompt.Ref{Number: 2}
	const workspace, id = identity.WorkspaceID("acme"), prompt.ID("tpl")
	t.Run("it goes from what is compared against to what was asked for, with what was reported", func(t *testing.T) {
		s := newMocked(t)
		base, changed := version(1), version(2)
		changed.Content.Text = "Bye"
		s.expectGetVersion(owner, one, base)
		s.expectGetVersion(owner, two, changed)
		judging := template()
		judging.Thresholds = []prompt.Threshold{{Name: "eval", AtLeast: new(0.9)}}
		s.prompts.EXPECT().Get(s.ctx, owner, id).Return(judging, nil)
		s.lists.EXPECT().Checks(s.ctx, workspace, id, base.ID).Return([]prompt.Check{{Name: "eval", Result: new(0.8),
			Conclusion: prompt.Success, ContentHash: base.ContentHash}}, nil)
		s.lists.EXPECT().Checks(s.ctx, workspace, id, changed.ID).Return([]prompt.Check{{Name: "eval", Result: new(0.9),
			Conclusion: prompt.Success, ContentHash: changed.ContentHash}}, nil)
		today := prompt.DayOf(owner.At)
		s.lists.EXPECT().Reads(s.ctx, workspace, id, today-29, gomock.Any()).Return([]prompt.Reads{
			{Read: prompt.Read{Version: base.ID, Day: today}, Count: 5},
			{Read: prompt.Read{Version: base.ID, Day: today - 1}, Count: 6},
			{Read: prompt.Read{Version: "other", Day: today}, Count: 100}}, nil)
		s.feedback.EXPECT().Feedback(s.ctx, workspace, id, "", today-29, gomock.Any()).Return([]prompt.FeedbackLine{
			judgedLine(base.ID, 90, 200), judgedLine(changed.ID, 180, 200), judgedLine("other", 1, 1)}, nil)
		c, err := s.Compare(s.ctx, owner, id, one, two)
		require.NoError(t, err)
		if c.From.Number != 1 || c.To.Number != 2 || len(c.Changed) == 0 {
			t.Fatalf("Compare = %+v", c)
		}
		assert.Equal(t, "the base passes", c.FromOutcomes.Checks[0].Passed, false)
		assert.Equal(t, "the version passes", c.ToOutcomes.Checks[0].Passed, true)
		assert.Equal(t, "reads of the base", c.FromOutcomes.Reads, 11)
		assert.Equal(t, "reads of the version", c.ToOutcomes.Reads, 0)
		assert.Equal(t, "lines of the base", len(c.FromOutcomes.Feedback), 1)
		assert.Equal(t, "differences of the base", len(c.FromOutcomes.Feedback[0].Differences), 0)
		assert.Equal(t, "lines of the version", len(c.ToOutcomes.Feedback), 1)
		assert.Equal(t, "the difference", c.ToOutcomes.Feedback[0].Differences[0].Interval.Value, 0.45)
	})
	t.Run("either may be a draft that a viewer is not told of", func(t *testing.T) {
		for _, refs := range [][2]prompt.Ref{{one, two}, {two, one}} {
			s := newMocked(t)
			s.prompts.EXPECT().GetVersion(s.ctx, viewer, id, one).MaxTimes(1).Return(template().Reading(), version(1),
				nil)
			s.expectGetVersion(viewer, two, version(2))
			_, err := s.Compare(s.ctx, viewer, id, refs[0], refs[1])
			require.ErrorIs(t, err, prompt.ErrVersionNotFound)
		}
	})
}

// judgedLine is a day on which some of all readers were content with a version.
func judgedLine(v prompt.VersionID, content, all int64) prompt.FeedbackLine {
	return prompt.FeedbackLine{Version: v, Name: "solved", Kind: prompt.FeedbackBoolean, Tally: prompt.Tally{Count: all,
		Values: map[string]int64{"true": content, "false": all - content}}}
}
