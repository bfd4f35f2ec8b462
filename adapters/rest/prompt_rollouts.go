package rest

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func rollOutLabel(r *request) (reply, error) {
	in, err := decode[openapi.PromptRolloutStart](r)
	if err != nil {
		return reply{}, err
	}
	d := prompt.RolloutDraft{LabelMove: prompt.LabelMove{Label: pathVar(r.Request, "label"), Reason: in.Reason}}
	if in.ExpectedVersion.IsSpecified() {
		d.Expected = new(prompt.ParseRef(*orZero(in.ExpectedVersion)))
	}
	for _, v := range in.Versions {
		d.Versions = append(d.Versions, prompt.WeightedRef{Ref: prompt.ParseRef(v.Version), Weight: v.Weight})
	}
	started, err := r.Prompts.RollOut(r.Context(), r.by, promptID(r), d)
	if err != nil {
		return reply{}, err
	}
	return ok(toRollout(started)), nil
}

func listRollouts(r *request) (reply, error) {
	rollouts, err := r.Prompts.Rollouts(r.Context(), r.by, promptID(r))
	if err != nil {
		return reply{}, err
	}
	out := openapi.PromptRolloutList{Data: make([]openapi.PromptRollout, len(rollouts))}
	for i := range rollouts {
		out.Data[i] = toRollout(&rollouts[i])
	}
	return ok(out), nil
}

func toRollout(r *prompt.Rollout) openapi.PromptRollout {
	return openapi.PromptRollout{Label: r.Label, Versions: toWeights(r.Weights())}
}

func toWeights(weights []prompt.Weight) []openapi.PromptWeight {
	var out []openapi.PromptWeight
	for _, w := range weights {
		out = append(out, openapi.PromptWeight{
			VersionID:     string(w.Version),
			VersionNumber: w.Number,
			Weight:        w.Percent,
		})
	}
	return out
}

func toChoice(c *prompt.Choice) *openapi.PromptRolloutChoice {
	if c == nil {
		return nil
	}
	return &openapi.PromptRolloutChoice{Label: c.Rollout.Label, Weight: c.Weight}
}

// shown records which version the response contains, and which rollout chose it.
func shown(r *request, v *prompt.Version) {
	r.versions = append(r.versions, v.ID)
	if v.Choice != nil {
		r.rollouts = append(r.rollouts, v.Choice.Rollout)
	}
}

// readerKey removes the key of a reader from what is asked, so that responses are cached for each version that rollouts
// choose, and not for each reader. It returns the empty key, and changes nothing, if there is none, or if the request
// could be refused because of it.
func readerKey(r *request, of *cacheKey) string {
	var key string
	switch {
	case r.op.ID == "resolvePrompt" && len(r.query["key"]) == 1:
		var rest []string
		for pair := range strings.SplitSeq(of.query, "&") {
			if !strings.HasPrefix(pair, "key=") {
				rest = append(rest, pair)
			}
		}
		if key = r.query.Get("key"); isReaderKey(key) {
			of.query = strings.Join(rest, "&")
		}
	case (r.op.ID == "resolvePrompts" || r.op.ID == "renderPrompt") && bytes.Contains(r.body, []byte(`"key"`)):
		var rest string
		if key, rest = withoutKey(r.body); isReaderKey(key) {
			of.body = rest
		}
	}
	if !isReaderKey(key) {
		return ""
	}
	of.choice = "by key"
	return key
}

func isReaderKey(key string) bool {
	return key != "" && utf8.ValidString(key) && utf8.RuneCountInString(key) <= 255
}

// withoutKey returns the member "key" of a JSON object, and the text of the object without its value. The key is empty
// if there is none, or not exactly one.
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

// choose completes what is asked with the versions that rollouts choose for key.
func (k *cacheKey) choose(rollouts []*prompt.Rollout, key string) {
	var choice strings.Builder
	choice.WriteString(k.choice)
	for _, r := range rollouts {
		choice.WriteByte(' ')
		choice.WriteString(string(r.Choose(key).Version))
	}
	k.choice = choice.String()
}
