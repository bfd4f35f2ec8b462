package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// ReportFeedback counts what applications report about versions, all in one transaction. It returns an outcome for each
// request, in the same order. A request that is refused keeps no other from being counted.
func (s *Service) ReportFeedback(
	ctx context.Context, by identity.Actor, requests ...prompt.FeedbackRequest,
) ([]prompt.FeedbackOutcome, error) {
	outcomes := make([]prompt.FeedbackOutcome, len(requests))
	var reports []prompt.FeedbackReport
	var indices []int // of the requests for which there are reports
	judged := judgedVersions{
		service: s, versions: map[judgedRef]judgedVersion{}, rollouts: map[prompt.ID][]prompt.Rollout{},
	}
	for i := range requests {
		t, v, err := judged.find(ctx, by, &requests[i])
		var report prompt.FeedbackReport
		if err == nil {
			report, err = prompt.NewFeedbackReport(by, t, v, requests[i])
		}
		if _, isRefusal := errors.AsType[*fault.Error](err); isRefusal {
			outcomes[i].Refusal = err
			continue
		}
		if err != nil {
			return nil, err
		}
		reports, indices = append(reports, report), append(indices, i)
	}
	if len(reports) == 0 {
		return outcomes, nil
	}
	added, err := s.feedback.AddFeedback(ctx, by, reports...)
	if err != nil {
		return nil, err
	}
	for j, i := range indices {
		outcomes[i] = added[j]
	}
	return outcomes, nil
}

// judgedVersions finds the versions that requests are about, each once.
type judgedVersions struct {
	service  *Service
	versions map[judgedRef]judgedVersion
	rollouts map[prompt.ID][]prompt.Rollout
}

type judgedRef struct {
	template prompt.ID
	ref      prompt.Ref
}

type judgedVersion struct {
	template *prompt.Reading
	version  *prompt.Version
	err      error
}

// find returns the version that w names, or that the rollout of the label that w names chooses for its reader.
func (j *judgedVersions) find(
	ctx context.Context, by identity.Actor, w *prompt.FeedbackRequest,
) (*prompt.Reading, *prompt.Version, error) {
	ref := w.Ref()
	found := j.version(ctx, by, judgedRef{w.Template, ref})
	if found.err != nil || w.Reader == "" || ref.Label == "" {
		return found.template, found.version, found.err
	}
	rollouts, isKnown := j.rollouts[w.Template]
	if !isKnown {
		var err error
		if rollouts, err = j.service.prompts.Rollouts(ctx, by, w.Template); err != nil {
			return nil, nil, err
		}
		j.rollouts[w.Template] = rollouts
	}
	if r := rolloutOf(rollouts, ref.Label); r != nil {
		chosen := j.version(ctx, by, judgedRef{w.Template, prompt.Ref{ID: r.Choose(w.Reader).Version}})
		if !errors.Is(chosen.err, prompt.ErrVersionNotFound) { // otherwise the rollout has just ended
			found = chosen
		}
	}
	return found.template, found.version, found.err
}

func (j *judgedVersions) version(ctx context.Context, by identity.Actor, ref judgedRef) judgedVersion {
	found, isKnown := j.versions[ref]
	if !isKnown {
		found.template, found.version, found.err = j.service.Version(ctx, by, ref.template, ref.ref)
		if found.version != nil { // the content can be large
			found.version = &prompt.Version{VersionInfo: found.version.VersionInfo}
		}
		j.versions[ref] = found
	}
	return found
}

// FeedbackQuery selects feedback about a template.
type FeedbackQuery struct {
	Name string      // empty: all names
	Days int         // that have passed, today included
	Base *prompt.Ref // the version with which others are compared; nil: the active one
}

// Feedback is what applications reported about a template's versions.
type Feedback struct {
	Lines    []prompt.FeedbackLine // by day, latest first
	Complete bool                  // whether Lines and Summaries have everything
	Base     prompt.VersionInfo    // with which others are compared; zero: none
	Versions []prompt.FeedbackSummary
	Comments []prompt.FeedbackComment // latest first; only for those who edit the template
}

// Feedback returns what applications reported about a template's versions, in at most limit lines.
func (s *Service) Feedback(
	ctx context.Context, by identity.Actor, id prompt.ID, q FeedbackQuery, limit int,
) (out Feedback, err error) {
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return out, err
	}
	out.Base = prompt.VersionInfo{ID: t.Active.Version, Number: t.Active.Number}
	if q.Base != nil {
		_, v, err := s.Version(ctx, by, id, *q.Base)
		if err != nil {
			return out, err
		}
		out.Base = v.VersionInfo
	}
	firstDay := prompt.DayOf(by.At) - prompt.Day(q.Days) + 1
	if out.Lines, err = s.feedback.Feedback(ctx, by.Workspace, id, q.Name, firstDay, maxFeedbackLines); err != nil {
		return out, err
	}
	out.Versions = prompt.SummarizeFeedback(out.Lines, out.Base.ID)
	out.Complete = len(out.Lines) <= limit
	out.Lines = out.Lines[:min(len(out.Lines), limit)]
	if t.SeesDrafts(by) {
		out.Comments, err = s.feedback.FeedbackComments(ctx, by.Workspace, id, q.Name, firstDay)
	}
	return out, err
}

// maxFeedbackLines bounds the lines that are summed up.
const maxFeedbackLines = 20_000
