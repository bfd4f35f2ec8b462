package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func listVersionChecks(r *server.Call) (server.Reply, error) {
	checks, err := r.Prompts.Checks(r.Context(), r.By, promptID(r), versionRef(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.VersionCheckList{Data: convert.Slice(checks, toVersionCheck)}), nil
}

func reportVersionCheck(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.VersionCheckReport](r)
	if err != nil {
		return server.Reply{}, err
	}
	c, err := r.Prompts.Report(r.Context(), r.By, promptID(r), versionRef(r), prompt.Check{
		Name: server.PathVar(r.Request, "name"), Conclusion: prompt.Conclusion(in.Conclusion), URL: in.URL,
		Summary: in.Summary, Result: in.Result,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toVersionCheck(&c)), nil
}

func toVersionCheck(c *prompt.JudgedCheck) openapi.VersionCheck {
	out := openapi.VersionCheck{
		Name:       c.Name,
		Conclusion: openapi.CheckConclusion(c.Conclusion),
		URL:        openapi.OrNull(c.URL),
		Summary:    c.Summary,
		Result:     nullable.NewNullNullable[float64](),
		Threshold:  nullable.NewNullNullable[openapi.CheckThreshold](),
		Passed:     c.Passed,
		Outdated:   c.IsOutdated,
		Counts:     !c.ByAuthor,
		ReportedBy: string(c.By),
		ReportedAt: openapi.Time(c.At),
	}
	if c.Result != nil {
		out.Result.Set(*c.Result)
	}
	if c.Threshold != nil {
		out.Threshold.Set(toCheckThreshold(c.Threshold))
	}
	return out
}
