package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Comparison is how a template's two versions differ, and what was reported about them.
type Comparison struct {
	From, To *prompt.Version // with the texts of what they include
	prompt.Difference
	FromOutcomes, ToOutcomes Outcomes
}

// Outcomes are what was reported about a version.
type Outcomes struct {
	Checks   []prompt.JudgedCheck     // by name
	Reads    int64                    // of the last prompt.ReadsListed days
	Feedback []prompt.FeedbackSummary // of the same days, by name, compared with the other version
}

// Compare compares the version that ref names with another one of the same template, base.
func (s *Service) Compare(
	ctx context.Context, by identity.Actor, id prompt.ID, base, ref prompt.Ref,
) (*Comparison, error) {
	_, current, err := s.Resolved(ctx, by, id, ref, "")
	if err != nil {
		return nil, err
	}
	_, baseline, err := s.Resolved(ctx, by, id, base, "")
	if err != nil {
		return nil, err
	}
	c := &Comparison{From: baseline, To: current, Difference: prompt.Diff(baseline, current)}
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if c.FromOutcomes.Checks, err = s.checksOf(ctx, by, t, baseline); err != nil {
		return nil, err
	}
	if c.ToOutcomes.Checks, err = s.checksOf(ctx, by, t, current); err != nil {
		return nil, err
	}
	reads, err := s.readSums(ctx, by, id)
	if err != nil {
		return nil, err
	}
	c.FromOutcomes.Reads, c.ToOutcomes.Reads = reads[baseline.ID], reads[current.ID]
	lines, err := s.feedback.Feedback(ctx, by.Workspace, id, "", firstListedDay(by), maxFeedbackLines)
	if err != nil {
		return nil, err
	}
	for _, summary := range prompt.SummarizeFeedback(lines, baseline.ID) {
		switch summary.Version {
		case baseline.ID:
			c.FromOutcomes.Feedback = append(c.FromOutcomes.Feedback, summary)
		case current.ID:
			c.ToOutcomes.Feedback = append(c.ToOutcomes.Feedback, summary)
		}
	}
	return c, nil
}
