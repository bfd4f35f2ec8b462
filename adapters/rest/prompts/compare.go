package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/prompts"
)

func diffVersions(r *server.Call) (server.Reply, error) {
	comparison, err := r.Prompts.Compare(
		r.Context(), r.By, promptID(r), refOr(r.Query.Get("against"), "active"), versionRef(r),
	)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toVersionDiff(comparison)), nil
}

func toVersionDiff(c *prompts.Comparison) openapi.VersionDiff {
	return openapi.VersionDiff{
		Against:       toVersionRef(c.From),
		Version:       toVersionRef(c.To),
		Unified:       c.Unified,
		ChangedFields: convert.NonNil(c.Changed),
		Changes:       fieldChanges(c.From, c.To, c.Changed),
		Outcomes: openapi.VersionOutcomesPair{
			Against: toVersionOutcomes(&c.FromOutcomes),
			Version: toVersionOutcomes(&c.ToOutcomes),
		},
	}
}

func toVersionOutcomes(o *prompts.Outcomes) openapi.VersionOutcomes {
	return openapi.VersionOutcomes{
		Checks:   convert.Slice(o.Checks, toVersionCheck),
		Reads:    o.Reads,
		Feedback: convert.Slice(o.Feedback, toFeedbackSummary),
	}
}
