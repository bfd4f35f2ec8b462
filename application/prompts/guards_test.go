package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectJudging expects that the template's rollouts are evaluated an hour later.
func (s *mockedService) expectJudging(t *testing.T, by identity.Actor) {
	t.Helper()
	s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
		if j.Kind != prompt.RolloutJob || j.Subject != "tpl" || !j.Due.Equal(by.At.Add(prompt.GuardEvery)) {
			t.Errorf("job %+v", j)
		}
		return nil
	})
}

func TestRolloutsAreJudgedEachHour(t *testing.T) {
	system := identity.System("org", "acme", "prompt.rollout", now)
	guarded := func() prompt.Rollout {
		r := halves()
		r.Guard, r.Since = prompt.Guard{Name: "solved", Margin: 0.02}, prompt.DayOf(now)-2
		return r
	}
	solved := func(number int, count int64) prompt.FeedbackLine {
		return prompt.FeedbackLine{Version: version(number).ID, Number: number, Name: "solved",
			Kind: prompt.FeedbackBoolean, Tally: prompt.Tally{Count: 400, Values: map[string]int64{"true": count}}}
	}
	lock := func(s *mockedService, t *prompt.Template, err error) {
		s.prompts.EXPECT().Lock(s.ctx, system, prompt.ID("tpl"), prompt.Ref{}).Return(t, nil, err)
	}
	reads := func(s *mockedService, rollouts []prompt.Rollout, lines ...prompt.FeedbackLine) {
		lock(s, template(), nil)
		s.prompts.EXPECT().Rollouts(s.ctx, system, prompt.ID("tpl")).Return(rollouts, nil)
		s.feedback.EXPECT().Feedback(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), "solved",
			prompt.DayOf(now)-2, gomock.Any()).AnyTimes().Return(lines, nil)
	}
	t.Run("a worse version is reported, and the rollout is not judged again", func(t *testing.T) {
		s := newMocked(t)
		reads(s, []prompt.Rollout{guarded()}, solved(1, 300), solved(2, 200))
		var warned *prompt.Template
		s.prompts.EXPECT().Update(s.ctx, system, prompt.ID("tpl"), gomock.Any()).DoAndReturn(func(_ context.Context,
			_ identity.Actor, _ prompt.ID, change func(*prompt.Template) error) (*prompt.Template, error) {
			warned = template()
			return warned, change(warned)
		})
		require.NoError(t, s.JudgeRollouts(s.ctx, system, "tpl"))
		assert.Equal(t, "event", warned.Recorded()[0].Type, "prompt_template.rollout_worsened")
	})
	t.Run("without a difference it is judged again an hour later", func(t *testing.T) {
		s := newMocked(t)
		reads(s, []prompt.Rollout{halves(), guarded()}, solved(1, 300), solved(2, 299))
		s.expectJudging(t, system)
		require.NoError(t, s.JudgeRollouts(s.ctx, system, "tpl"))
	})
	t.Run("nothing is queued without a guard, after a warning, or without the template", func(t *testing.T) {
		s := newMocked(t)
		warned := guarded()
		warned.WarnedAt = now
		reads(s, []prompt.Rollout{halves(), warned})
		require.NoError(t, s.JudgeRollouts(s.ctx, system, "tpl"))
		lock(s, nil, prompt.ErrNotFound)
		require.NoError(t, s.JudgeRollouts(s.ctx, system, "tpl"))
	})
	t.Run("a deleted template is judged when it is restored", func(t *testing.T) {
		s := newMocked(t)
		deleted := template()
		deleted.DeletedAt = now
		lock(s, deleted, nil)
		s.prompts.EXPECT().Rollouts(s.ctx, system, prompt.ID("tpl")).Return([]prompt.Rollout{guarded()}, nil)
		s.expectJudging(t, system)
		require.NoError(t, s.JudgeRollouts(s.ctx, system, "tpl"))
	})
	t.Run("an outage is an error", func(t *testing.T) {
		s := newMocked(t)
		lock(s, nil, errOutage)
		assert.ErrorIs(t, s.JudgeRollouts(s.ctx, system, "tpl"), errOutage)
	})
	t.Run("a rollout with a guard is judged", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			return &version(1).VersionInfo
		})
		s.expectEditVersion(owner, prompt.Ref{Number: 1}, func() *prompt.Version {
			v := version(1)
			v.ID = "ver0"
			return v
		})
		s.prompts.EXPECT().Rollouts(s.ctx, owner, prompt.ID("tpl")).Return([]prompt.Rollout{guarded()}, nil)
		s.expectJudging(t, owner)
		r, _, err := s.RollOut(s.ctx, owner, "tpl", prompt.RolloutDraft{LabelMove: prompt.LabelMove{Label: "live"},
			Versions: []prompt.WeightedRef{{Ref: prompt.Ref{Number: 1}, Weight: 60}, {Ref: prompt.Ref{Number: 2},
				Weight: 40}}, Guard: prompt.Guard{Name: "solved"}})
		require.NoError(t, err)
		assert.Equal(t, "guard", r.Guard.Name, "solved")
	})
}
