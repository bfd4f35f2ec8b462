package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// guarded queues the evaluation of a template's rollouts if a change has given one of them a guard.
func guarded(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template) error {
	for _, r := range t.ChangedRollouts {
		if r.IsJudged() {
			return judgeLater(ctx, tx, by, t.ID)
		}
	}
	return nil
}

func judgeLater(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID) error {
	return tx.Jobs.Enqueue(ctx, job.New(by, prompt.RolloutJob, string(id), by.At.Add(prompt.GuardEvery)))
}

// JudgeRollouts records which of a template's rollouts have a version that feedback shows to be worse, and queues the
// next evaluation of the others. by is the system.
func (s *Service) JudgeRollouts(ctx context.Context, by identity.Actor, id prompt.ID) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		t, _, err := tx.Prompts.Lock(ctx, by, id, prompt.Ref{}) // so that no rollout changes before it is warned of
		if errors.Is(err, prompt.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		rollouts, err := tx.Prompts.Rollouts(ctx, by, id)
		if err != nil {
			return err
		}
		isPending := false
		for _, r := range rollouts {
			if !r.IsJudged() {
				continue
			}
			if !t.DeletedAt.IsZero() { // it can be restored
				isPending = true
				continue
			}
			days, err := tx.PromptFeedback.Feedback(ctx, by.Workspace, id, r.Guard.Name, r.Since, maxFeedbackLines)
			if err != nil {
				return err
			}
			verdict := r.Judge(days)
			if verdict == nil {
				isPending = true
				continue
			}
			if _, err := tx.Prompts.Update(ctx, by, id, func(t *prompt.Template) error {
				t.Warn(by, r, *verdict)
				return nil
			}); err != nil {
				return err
			}
		}
		if !isPending {
			return nil
		}
		return judgeLater(ctx, tx, by, id)
	})
}
