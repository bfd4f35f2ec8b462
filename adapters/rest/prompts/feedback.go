package prompts

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// feedbackValue reads a value. A number that no float64 has becomes infinite, which is out of range.
func feedbackValue(text json.RawMessage) (value any) {
	if json.Unmarshal(text, &value) != nil {
		return math.Inf(1)
	}
	return value
}

// reportFeedback counts one report. A refusal, which a batch lists, is its problem.
func reportFeedback(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptFeedbackReport](r)
	if err != nil {
		return server.Reply{}, err
	}
	outcomes, err := r.Prompts.ReportFeedback(r.Context(), r.By, prompt.FeedbackRequest{
		Template: promptID(r), Version: server.PathVar(r.Request, "version_id"), Reader: in.Key, Name: in.Name,
		Value: feedbackValue(in.Value), Comment: in.Comment, Key: in.IdempotencyKey,
	})
	if err != nil {
		return server.Reply{}, err
	}
	if err := outcomes[0].Refusal; err != nil {
		return server.Reply{}, err
	}
	return server.OK(toFeedbackCounted(&outcomes[0])), nil
}

// reportFeedbackBatch reads the templates from the body, and lists what became of each report.
func reportFeedbackBatch(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptFeedbackReports](r)
	if err != nil {
		return server.Reply{}, err
	}
	requests := convert.Slice(in.Reports, func(item *openapi.PromptFeedbackItem) prompt.FeedbackRequest {
		return prompt.FeedbackRequest{
			Template: prompt.ID(item.PromptTemplateID), Version: item.VersionID, Reader: item.Key, Name: item.Name,
			Value: feedbackValue(item.Value), Comment: item.Comment, Key: item.IdempotencyKey,
		}
	})
	outcomes, err := r.Prompts.ReportFeedback(r.Context(), r.By, requests...)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PromptFeedbackResults{Results: convert.Slice(outcomes, toFeedbackResult)}), nil
}

func toFeedbackCounted(o *prompt.FeedbackOutcome) openapi.PromptFeedbackCounted {
	return openapi.PromptFeedbackCounted{
		VersionID: string(o.Version), VersionNumber: o.Number, Repeated: o.IsRepeated,
	}
}

// toFeedbackResult shows the version for which a report counts, or the problem that the report would have had alone.
func toFeedbackResult(o *prompt.FeedbackOutcome) openapi.PromptFeedbackResult {
	out := openapi.PromptFeedbackResult{
		Feedback: nullable.NewNullNullable[openapi.PromptFeedbackCounted](),
		Error:    nullable.NewNullNullable[openapi.PromptFeedbackError](),
	}
	if failure, isRefused := errors.AsType[*fault.Error](o.Refusal); isRefused {
		refusal := openapi.PromptFeedbackError{Code: failure.Code, Detail: failure.Detail}
		for _, f := range failure.Fields {
			refusal.Errors = append(refusal.Errors,
				openapi.FieldError{Pointer: f.Pointer, Code: f.Code, Detail: f.Detail})
		}
		out.Error.Set(refusal)
		return out
	}
	out.Feedback.Set(toFeedbackCounted(o))
	return out
}

// listFeedback compares with the active version unless the query names another base.
func listFeedback(r *server.Call) (server.Reply, error) {
	q := prompts.FeedbackQuery{Name: r.Query.Get("name"), Days: readDays}
	if days, err := strconv.Atoi(r.Query.Get("days")); err == nil {
		q.Days = days
	}
	if base := r.Query.Get("base"); base != "" {
		q.Base = new(prompt.ParseRef(base))
	}
	found, err := r.Prompts.Feedback(r.Context(), r.By, promptID(r), q, maxReadLines)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.PromptFeedbackList{
		Data:              convert.Slice(found.Lines, toFeedback),
		Complete:          found.Complete,
		BaseVersionID:     nullable.NewNullNullable[string](),
		BaseVersionNumber: nullable.NewNullNullable[int](),
		Versions:          convert.Slice(found.Versions, toFeedbackSummary),
		Comments:          convert.Slice(found.Comments, toFeedbackComment),
	}
	if found.Base.ID != "" {
		out.BaseVersionID.Set(string(found.Base.ID))
		out.BaseVersionNumber.Set(found.Base.Number)
	}
	return server.OK(out), nil
}

func toFeedbackDifference(d *prompt.FeedbackDifference) openapi.PromptFeedbackDifference {
	return openapi.PromptFeedbackDifference{
		Value: openapi.OrNull(d.Value), Difference: d.Interval.Value, Low: d.Low, High: d.High,
	}
}

func toFeedbackSummary(s *prompt.FeedbackSummary) openapi.PromptFeedback {
	out := toFeedback(&s.FeedbackLine)
	out.Date = nullable.NewNullNullable[string]()
	out.Differences = convert.Slice(s.Differences, toFeedbackDifference)
	return out
}

// toFeedback shows the figures of the kind only; the others are null. The most frequent values come first.
func toFeedback(l *prompt.FeedbackLine) openapi.PromptFeedback {
	out := openapi.PromptFeedback{
		Date:          nullable.NewNullableWithValue(l.Day.String()),
		VersionID:     string(l.Version),
		VersionNumber: l.Number,
		Name:          l.Name,
		Kind:          openapi.PromptFeedbackKind(l.Kind),
		Count:         l.Tally.Count,
		Mean:          nullable.NewNullNullable[float64](),
		Deviation:     nullable.NewNullNullable[float64](),
		Share:         nullable.NewNullNullable[float64](),
		Distribution:  []openapi.PromptFeedbackShare{},
		Differences:   []openapi.PromptFeedbackDifference{},
	}
	switch l.Kind {
	case prompt.FeedbackNumber:
		sample := l.Tally.Sample()
		if out.Mean.Set(sample.Mean); sample.Count > 1 {
			out.Deviation.Set(math.Sqrt(sample.Variance))
		}
	case prompt.FeedbackBoolean:
		out.Share.Set(l.Tally.Share("true").Value())
	case prompt.FeedbackChoice:
		for _, value := range slices.Sorted(maps.Keys(l.Tally.Values)) {
			out.Distribution = append(out.Distribution, openapi.PromptFeedbackShare{
				Value: value, Count: l.Tally.Values[value], Share: l.Tally.Share(value).Value(),
			})
		}
		slices.SortStableFunc(out.Distribution, func(a, b openapi.PromptFeedbackShare) int {
			return cmp.Compare(b.Count, a.Count)
		})
	}
	return out
}

func toFeedbackComment(c *prompt.FeedbackComment) openapi.PromptFeedbackComment {
	return openapi.PromptFeedbackComment{
		VersionID: string(c.Version), VersionNumber: c.Number, Name: c.Name, Value: c.Value, Comment: c.Comment,
		ReportedAt: openapi.Time(c.At),
	}
}
