package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func moveLabel(r *request) (reply, error) {
	in, err := decode[openapi.LabelMove](r)
	if err != nil {
		return reply{}, err
	}
	m := prompt.LabelMove{Label: pathVar(r.Request, "label"), Reason: in.Reason}
	if in.ExpectedVersion.IsSpecified() {
		m.Expected = new(prompt.ParseRef(*convert.OrZero(in.ExpectedVersion)))
	}
	t, v, err := r.Prompts.MoveLabel(r.Context(), r.by, promptID(r), prompt.ParseRef(in.Version), m)
	return versionReply(t, v, err)
}

func removeLabel(r *request) (reply, error) {
	m := prompt.LabelMove{Label: pathVar(r.Request, "label"), Reason: r.query.Get("reason")}
	if expected := r.query.Get("expected_version"); expected != "" {
		m.Expected = new(prompt.ParseRef(expected))
	}
	return noContent, r.Prompts.RemoveLabel(r.Context(), r.by, promptID(r), r.match, m)
}
