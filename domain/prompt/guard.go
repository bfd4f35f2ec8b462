package prompt

import (
	"math"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/estimate"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// RolloutJob looks whether the feedback about a version in one of a template's rollouts is worse.
const RolloutJob job.Kind = "prompt.rollout"

// GuardEvery is the interval at which a rollout's feedback is evaluated.
const GuardEvery = time.Hour

// Guard is the feedback by which a rollout's versions are compared. The zero Guard compares nothing.
type Guard struct {
	Name   string  `json:"name"`            // of the feedback
	Value  string  `json:"value,omitempty"` // whose share is compared; empty: means, or shares of true
	Margin float64 `json:"margin"`          // by which a version must be worse, in the unit of the mean, or from 0 to 1
	Lower  bool    `json:"lower,omitempty"` // whether lower is better
}

// check returns all errors in g, which point below /feedback.
func (g Guard) check() error {
	if g == (Guard{}) {
		return nil
	}
	var errs fault.Fields
	if !checkName.MatchString(g.Name) {
		errs.Add("/feedback/name", "invalid_format", checkNameRule)
	}
	errs.AddText("/feedback/value", g.Value, maxFeedbackChoice)
	if math.IsNaN(g.Margin) || g.Margin < 0 || g.Margin > MaxFeedbackNumber {
		errs.Add("/feedback/margin", "out_of_range", "Must be a number from 0 to 1000000000.")
	}
	return errs.Err()
}

// guard sets by what r, a rollout that replaces previous or is new, is judged. A rollout that goes on with the same
// guard keeps its warning.
func (r *Rollout) guard(by identity.Actor, previous *Rollout, g Guard) {
	r.Guard, r.Since = g, DayOf(by.At)
	if previous == nil {
		return
	}
	if r.Since = previous.Since; previous.Guard == g {
		r.WarnedAt = previous.WarnedAt
	}
}

// IsJudged reports whether the feedback about r is still compared.
func (r *Rollout) IsJudged() bool {
	return r.Guard.Name != "" && r.WarnedAt.IsZero() && len(r.Parts) > 1
}

// Verdict is what feedback says about two versions of a rollout, the first of which has its label.
type Verdict struct {
	Worse, Better     RolloutPart
	estimate.Interval // of the difference between the worse version and the better one
}

// Judge returns the first version that is worse than the version with the label, or better, by the guard's margin: the
// whole interval of the difference is beyond it. days are feedback with the guard's name since r started. Returns nil
// if not found.
func (r *Rollout) Judge(days []FeedbackLine) *Verdict {
	if !r.IsJudged() {
		return nil
	}
	summaries := SummarizeFeedback(days, r.Parts[0].Version)
	for _, part := range r.Parts[1:] {
		i := slices.IndexFunc(summaries, func(s FeedbackSummary) bool {
			return s.Version == part.Version && s.Name == r.Guard.Name
		})
		if i < 0 {
			continue
		}
		for _, d := range summaries[i].Differences {
			if d.Value != r.Guard.Value && (r.Guard.Value != "" || summaries[i].Kind == FeedbackChoice) {
				continue
			}
			if v := r.verdict(part, d.Interval); v != nil {
				return v
			}
		}
	}
	return nil
}

// verdict returns what an interval of the difference between part and the version with the label says; nil if nothing.
func (r *Rollout) verdict(part RolloutPart, d estimate.Interval) *Verdict {
	inverse := estimate.Interval{Value: -d.Value, Low: -d.High, High: -d.Low}
	isLess, isMore := d.High < -r.Guard.Margin, inverse.High < -r.Guard.Margin
	switch {
	case isLess && !r.Guard.Lower, isMore && r.Guard.Lower:
		return &Verdict{Worse: part, Better: r.Parts[0], Interval: d}
	case isLess, isMore:
		return &Verdict{Worse: r.Parts[0], Better: part, Interval: inverse}
	}
	return nil
}

// Warn records, once for each rollout, that one of its versions is worse than another.
func (t *Template) Warn(by identity.Actor, r Rollout, v Verdict) {
	r.WarnedAt = by.At
	t.ChangedRollouts = append(t.ChangedRollouts, r)
	t.Record(by, "prompt_template.rollout_worsened", string(t.ID), map[string]any{
		"label": r.Label, "name": r.Guard.Name, "value": r.Guard.Value, "margin": r.Guard.Margin,
		"version_id": v.Worse.Version, "version_number": v.Worse.Number,
		"better_version_id": v.Better.Version, "better_version_number": v.Better.Number,
		"difference": rounded(v.Interval.Value), "low": rounded(v.Low), "high": rounded(v.High),
	})
}

// rounded returns a number with six decimals, as people read it.
func rounded(x float64) float64 { return math.Round(x*feedbackUnit) / feedbackUnit }
