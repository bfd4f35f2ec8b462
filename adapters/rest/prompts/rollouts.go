package prompts

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func rollOutLabel(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptRolloutStart](r)
	if err != nil {
		return server.Reply{}, err
	}
	d := prompt.RolloutDraft{LabelMove: prompt.LabelMove{
		Label: server.PathVar(r.Request, "label"), Reason: in.Reason, Acknowledged: in.AcknowledgeContractBreak,
		NotBefore: time.Time(in.ActivateAt), BypassChecks: in.BypassChecks,
	}}
	if f := in.Feedback; f != nil {
		d.Guard = prompt.Guard{
			Name: f.Name, Value: f.Value, Margin: f.Margin, Lower: f.Better == openapi.PromptRolloutFeedbackBetterLower,
		}
	}
	if in.ExpectedVersion.IsSpecified() {
		d.Expected = new(prompt.ParseRef(*convert.OrZero(in.ExpectedVersion)))
	}
	for _, v := range in.Versions {
		d.Versions = append(d.Versions, prompt.WeightedRef{Ref: prompt.ParseRef(v.Version), Weight: v.Weight})
	}
	rollout, request, err := r.Prompts.RollOut(r.Context(), r.By, promptID(r), d)
	if err != nil {
		return server.Reply{}, err
	}
	if request == nil {
		return server.OK(toRollout(rollout)), nil
	}
	if rollout == nil {
		rollout = &prompt.Rollout{Label: d.Label}
	}
	body := toRollout(rollout)
	body.ActivationRequest = new(toActivationRequest(request, r.By.At))
	return server.Reply{Status: http.StatusAccepted, Body: body, Location: requestPath(request)}, nil
}

func listRollouts(r *server.Call) (server.Reply, error) {
	rollouts, err := r.Prompts.Rollouts(r.Context(), r.By, promptID(r))
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.PromptRolloutList{Data: make([]openapi.PromptRollout, len(rollouts))}
	for i := range rollouts {
		out.Data[i] = toRollout(&rollouts[i])
	}
	return server.OK(out), nil
}

func toRollout(r *prompt.Rollout) openapi.PromptRollout {
	out := openapi.PromptRollout{
		Label: r.Label, Versions: convert.NonNil(toWeights(r.Weights())),
		WorseReportedAt: convert.OrNullTime(r.WarnedAt),
		Feedback:        nullable.NewNullNullable[openapi.PromptRolloutFeedback](),
	}
	if guard := toGuard(r.Guard); guard != nil {
		out.Feedback.Set(*guard)
	}
	return out
}

func toDivision(r *prompt.Rollout) *openapi.PromptRolloutDivision {
	if r == nil {
		return nil
	}
	arms := convert.Slice(r.Parts, func(p *prompt.RolloutPart) openapi.PromptRolloutArm {
		slots := convert.Slice(p.Slots, func(slot *byte) int { return int(*slot) })
		return openapi.PromptRolloutArm{
			VersionID:     string(p.Version),
			VersionNumber: p.Number,
			Weight:        p.Weight(),
			Slots:         slots,
		}
	})
	return &openapi.PromptRolloutDivision{Seed: r.Seed, Versions: arms}
}

// showVersions records which versions the response contains, and which rollouts chose them.
func showVersions(r *server.Call, versions ...*prompt.Version) {
	var ids []prompt.VersionID
	var rollouts []*prompt.Rollout
	for _, v := range versions {
		ids = append(ids, v.ID)
		if v.Choice != nil {
			rollouts = append(rollouts, v.Choice.Rollout)
		}
	}
	reads := r.PromptReads
	r.Delivered = func(reader identity.Actor) { reads.Record(reader, ids...) }
	if len(rollouts) > 0 {
		r.Variant = func(reader string) string { return choices(rollouts, reader) }
	}
}

// splitReader takes a reader's key out of a request's query or body.
func splitReader(r *server.Call) (reader, query, body string) {
	query, body = r.URL.RawQuery, string(r.Payload)
	if r.Operation.Method == http.MethodGet {
		if len(r.Query["key"]) != 1 {
			return "", "", ""
		}
		var rest []string
		for pair := range strings.SplitSeq(query, "&") {
			if !strings.HasPrefix(pair, "key=") {
				rest = append(rest, pair)
			}
		}
		reader, query = r.Query.Get("key"), strings.Join(rest, "&")
	} else if bytes.Contains(r.Payload, []byte(`"key"`)) {
		reader, body = withoutKey(r.Payload)
	}
	if !isReaderKey(reader) {
		return "", "", ""
	}
	return reader, query, body
}

func isReaderKey(key string) bool {
	return key != "" && utf8.ValidString(key) && utf8.RuneCountInString(key) <= 255
}

// withoutKey returns a JSON object's member "key", and the text of the object without its value. The key is empty
// unless there is exactly one.
func withoutKey(body []byte) (key, rest string) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", ""
		}
		start := d.InputOffset()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", ""
		}
		if name != "key" {
			continue
		}
		if key != "" || json.Unmarshal(value, &key) != nil {
			return "", ""
		}
		rest = string(body[:start]) + string(body[d.InputOffset():])
	}
	return key, rest
}

// choices names the versions that rollouts choose for a reader's key.
func choices(rollouts []*prompt.Rollout, reader string) string {
	var names strings.Builder
	for _, r := range rollouts {
		names.WriteByte(' ')
		names.WriteString(string(r.Choose(reader).Version))
	}
	return names.String()
}
