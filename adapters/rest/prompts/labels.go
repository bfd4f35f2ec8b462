package prompts

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func moveLabel(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.LabelMove](r)
	if err != nil {
		return server.Reply{}, err
	}
	m := prompt.LabelMove{
		Label: server.PathVar(r.Request, "label"), Reason: in.Reason, Acknowledged: in.AcknowledgeContractBreak,
		NotBefore: time.Time(in.ActivateAt), BypassChecks: in.BypassChecks,
	}
	if in.ExpectedVersion.IsSpecified() {
		m.Expected = new(prompt.ParseRef(*convert.OrZero(in.ExpectedVersion)))
	}
	t, v, request, err := r.Prompts.MoveLabel(r.Context(), r.By, promptID(r), prompt.ParseRef(in.Version), m)
	if err != nil || request == nil {
		return versionReply(t, v, err)
	}
	body := toVersion(t, v)
	body.ActivationRequest = new(toActivationRequest(request, r.By.At))
	return server.Reply{
		Status: http.StatusAccepted, Body: body, Location: requestPath(request),
	}.WithRevision(v.Revision), nil
}

func removeLabel(r *server.Call) (server.Reply, error) {
	m := prompt.LabelMove{Label: server.PathVar(r.Request, "label"), Reason: r.Query.Get("reason")}
	if expectation := r.Query.Get("expected_version"); expectation != "" {
		m.Expected = new(prompt.ParseRef(expectation))
	}
	return server.NoContent, r.Prompts.RemoveLabel(r.Context(), r.By, promptID(r), r.Match, m)
}
