package prompts

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// promptFilter reads a list's filter.
func promptFilter(q url.Values) prompt.Filter {
	f := prompt.Filter{
		Query:   q.Get("q"),
		Tag:     q.Get("tag"),
		Folder:  strings.TrimSuffix(q.Get("folder"), "/"),
		Label:   q.Get("label"),
		Owner:   identity.UserID(q.Get("owner_id")),
		Deleted: q.Get("deleted") == "true",
		ByName:  q.Get("sort") == "name",

		UnusedSince: prompt.ParseDay(q.Get("unused_since")),
	}
	if active := q.Get("active"); active != "" {
		f.Active = new(active == "true")
	}
	return f
}

func promptDraft(in openapi.PromptTemplateCreate) prompt.Draft {
	return prompt.Draft{
		Name:        in.Name,
		Type:        prompt.Type(in.Type),
		Description: in.Description,
		Tags:        in.Tags,
		Metadata:    in.Metadata,
		Visibility:  access.Visibility(in.Visibility),
		Protected:   in.Protected,

		Compatibility: prompt.Compatibility(in.Compatibility),
		IncludeMode:   prompt.IncludeMode(in.IncludeMode),

		Approvals:      in.Approvals,
		RequiredChecks: in.RequiredChecks,
		Thresholds:     convert.Slice(in.CheckThresholds, checkThreshold),

		GatedLabels:     in.GatedLabels,
		ProtectedLabels: in.ProtectedLabels,
	}
}

// promptChanges reads a merge patch (RFC 7396).
func promptChanges(in openapi.PromptTemplatePatch) prompt.Changes {
	return prompt.Changes{
		Name:        in.Name,
		Description: convert.OrZero(in.Description),
		Tags:        convert.OrZero(in.Tags),
		Metadata:    convert.PatchJSON(in.Metadata),
		Visibility:  (*access.Visibility)(in.Visibility),
		Protected:   in.Protected,
		Owner:       (*identity.UserID)(in.OwnerID),

		Compatibility: (*prompt.Compatibility)(in.Compatibility),
		IncludeMode:   (*prompt.IncludeMode)(in.IncludeMode),

		Approvals:      in.Approvals,
		RequiredChecks: convert.OrZero(in.RequiredChecks),
		Thresholds:     thresholdChanges(in.CheckThresholds),

		GatedLabels:     convert.OrZero(in.GatedLabels),
		ProtectedLabels: convert.OrZero(in.ProtectedLabels),
	}
}

func toVariables(in []openapi.PromptVariable) []prompt.Variable {
	out := make([]prompt.Variable, len(in))
	for i, v := range in {
		out[i] = prompt.Variable{
			Name:        v.Name,
			Type:        convert.OrDefault(string(v.Type), "string"),
			Required:    v.Required == nil || *v.Required,
			Default:     v.Default,
			Enum:        v.Enum,
			Description: v.Description,
			Sensitive:   v.Sensitive,
		}
	}
	return out
}

func fromVariables(in []prompt.Variable) []openapi.PromptVariable {
	return convert.Slice(in, func(v *prompt.Variable) openapi.PromptVariable {
		return openapi.PromptVariable{
			Name:        v.Name,
			Type:        openapi.VariableType(v.Type),
			Required:    &v.Required,
			Default:     v.Default,
			Enum:        v.Enum,
			Description: v.Description,
			Sensitive:   v.Sensitive,
		}
	})
}

// patchContent merges a patch into a version's content (RFC 7396). Absent fields stay.
func patchContent(c prompt.Content, in openapi.PromptVersionPatch) prompt.Content {
	if in.Text != nil {
		c.Text = *in.Text
	}
	if in.Messages != nil {
		c.Messages = *in.Messages
	}
	if in.Format != nil {
		c.Format = prompt.Format(*in.Format)
	}
	if v := convert.OrZero(in.Variables); v != nil {
		c.Variables = toVariables(*v)
	}
	if in.ModelConfig.IsNull() {
		c.Model = nil
	} else if in.ModelConfig.IsSpecified() {
		c.Model = convert.PatchModel(c.Model, in.ModelConfig.MustGet())
	}
	if v := convert.OrZero(in.Tools); v != nil {
		c.Tools = *v
	}
	if merge := convert.PatchJSON(in.ResponseFormat); merge != nil {
		c.ResponseFormat = merge(c.ResponseFormat)
	}
	return c
}

func toVersionRef(v *prompt.Version) openapi.PromptVersionRef {
	return openapi.PromptVersionRef{ID: string(v.ID), Number: v.Number}
}

func toVersion(t *prompt.Reading, v *prompt.Version) openapi.PromptVersion {
	s, c := toVersionSummary(t, new(v.Summary())), v.Content
	out := openapi.PromptVersion{
		ID:               s.ID,
		PromptTemplateID: s.PromptTemplateID,
		Number:           s.Number,
		Format:           s.Format,
		Variables:        s.Variables,
		ModelConfig:      s.ModelConfig,
		Tools:            convert.OrEmpty(c.Tools, "[]"),
		ResponseFormat:   convert.RawOrNull(c.ResponseFormat),
		Labels:           s.Labels,
		CommitMessage:    s.CommitMessage,
		State:            s.State,
		IsActive:         s.IsActive,
		ContentHash:      s.ContentHash,
		FirstActivatedAt: s.FirstActivatedAt,
		Revision:         s.Revision,
		CreatedAt:        s.CreatedAt,
		CreatedBy:        s.CreatedBy,
		UpdatedAt:        s.UpdatedAt,
		Includes:         toIncludes(v),
		Rollout:          toChoice(v.Choice),
	}
	if t.Type == prompt.Chat {
		out.Messages = c.Messages
	} else {
		out.Text = c.Text
	}
	return out
}

func toVersionSummary(t *prompt.Reading, v *prompt.VersionSummary) openapi.PromptVersionSummary {
	return openapi.PromptVersionSummary{
		ID:               string(v.ID),
		PromptTemplateID: string(v.Template),
		Number:           v.Number,
		Format:           openapi.PromptFormat(v.Format),
		Variables:        fromVariables(v.Variables),
		ModelConfig:      convert.FromModel(v.Model),
		Labels:           convert.NonNil(v.Labels),
		CommitMessage:    v.CommitMessage,
		State:            versionState(v.Frozen),
		IsActive:         t.ActiveVersion == v.ID,
		ContentHash:      v.ContentHash,
		FirstActivatedAt: convert.OrNullTime(v.FirstActivatedAt),
		Reads:            v.Reads,
		Revision:         v.Revision,
		CreatedAt:        openapi.Time(v.CreatedAt),
		CreatedBy:        string(v.CreatedBy),
		UpdatedAt:        openapi.Time(v.UpdatedAt),
	}
}

func versionState(isFrozen bool) openapi.VersionState {
	if isFrozen {
		return openapi.VersionStateFrozen
	}
	return openapi.VersionStateDraft
}

// fieldChanges returns the values of the changed fields that the unified diff does not show.
func fieldChanges(from, to *prompt.Version, names []string) []openapi.FieldChange {
	values := func(c *prompt.Content) map[string]any {
		return map[string]any{
			"format":          c.Format,
			"variables":       convert.NonNil(fromVariables(c.Variables)),
			"model_config":    convert.FromModel(c.Model),
			"tools":           jsonOr(c.Tools, "[]"),
			"response_format": jsonOr(c.ResponseFormat, "null"),
		}
	}
	oldValues, newValues := values(&from.Content), values(&to.Content)
	changes := []openapi.FieldChange{}
	for _, field := range names {
		if _, ok := oldValues[field]; ok {
			changes = append(changes, openapi.FieldChange{Field: field, From: oldValues[field], To: newValues[field]})
		}
	}
	return changes
}

func jsonOr(raw json.RawMessage, otherwise string) json.RawMessage {
	if raw == nil {
		return json.RawMessage(otherwise)
	}
	return raw
}

func toActivation(a *prompt.Activation) openapi.Activation {
	return openapi.Activation{
		Label:             openapi.OrNull(a.Label),
		FromVersionID:     openapi.OrNull(string(a.From)),
		FromVersionNumber: openapi.OrNull(a.FromNumber),
		ToVersionID:       openapi.OrNull(string(a.To)),
		ToVersionNumber:   openapi.OrNull(a.ToNumber),
		ActivatedBy:       string(a.By),
		ActivatedAt:       openapi.Time(a.At),
		Reason:            a.Reason,
		RequestID:         openapi.OrNull(string(a.Request)),
		Weights:           toWeights(a.Weights),
	}
}

// toTemplate returns a template as this caller sees it.
func toTemplate(r *server.Call, t *prompt.Template) openapi.PromptTemplate {
	return templateFor(r.By, t)
}

// templateFor returns a template as by sees it.
func templateFor(by identity.Actor, t *prompt.Template) openapi.PromptTemplate {
	obs := t.Versions(by)
	reason := t.Reason(by)
	out := openapi.PromptTemplate{
		ID:             string(t.ID),
		Name:           t.Name,
		Type:           openapi.PromptType(t.Type),
		Description:    t.Description,
		Tags:           convert.NonNil(t.Tags),
		Metadata:       convert.OrEmpty(t.Metadata, "{}"),
		Visibility:     openapi.Visibility(t.Visibility),
		Protected:      t.Protected,
		Compatibility:  openapi.PromptCompatibility(t.Compatibility),
		IncludeMode:    openapi.PromptIncludeMode(t.IncludeMode),
		Approvals:      t.Approvals,
		RequiredChecks: convert.NonNil(t.RequiredChecks),

		CheckThresholds: convert.Slice(t.Thresholds, toCheckThreshold),
		GatedLabels:     convert.NonNil(t.GatedLabels),
		ProtectedLabels: convert.NonNil(t.ProtectedLabels),

		OwnerID:       string(t.Owner),
		LastReadOn:    nullable.NewNullNullable[string](),
		ActiveVersion: nullable.NewNullNullable[openapi.ActiveVersion](),
		LatestVersion: nullable.NewNullNullable[openapi.PromptVersionRef](),
		VersionCount:  obs.Count,
		MyRole:        openapi.PromptRole(reason.Role.String()),
		MyRoleSource: openapi.PromptRoleSource{
			Kind:   openapi.RoleSource(reason.By.String()),
			Folder: openapi.OrNull(reason.Folder),
		},
		Revision:  t.Revision,
		CreatedAt: openapi.Time(t.CreatedAt),
		CreatedBy: string(t.CreatedBy),
		UpdatedAt: openapi.Time(t.UpdatedAt),
		DeletedAt: convert.OrNullTime(t.DeletedAt),
	}
	if t.SeesDrafts(by) {
		out.OpenRequests = t.OpenRequests
	}
	if t.LastRead != 0 {
		out.LastReadOn = openapi.OrNull(t.LastRead.String())
	}
	if v := t.Active; v.Version != "" {
		out.ActiveVersion = nullable.NewNullableWithValue(openapi.ActiveVersion{
			ID:          string(v.Version),
			Number:      v.Number,
			ActivatedAt: openapi.Time(v.At),
			ActivatedBy: string(v.By),
		})
	}
	if obs.Latest != "" {
		out.LatestVersion = nullable.NewNullableWithValue(openapi.PromptVersionRef{
			ID:     string(obs.Latest),
			Number: obs.LatestNumber,
		})
	}
	return out
}

func versionDraft(in openapi.PromptVersionCreate) prompt.VersionDraft {
	d := prompt.VersionDraft{
		Content: prompt.Content{
			Text:           in.Text,
			Messages:       in.Messages,
			Format:         prompt.Format(in.Format),
			Model:          convert.ToModel(in.ModelConfig),
			Tools:          in.Tools,
			ResponseFormat: in.ResponseFormat,
		},
		VariablesDeclared: in.Variables != nil,
		Labels:            in.Labels,
		CommitMessage:     in.CommitMessage,
		Base:              prompt.VersionID(in.BaseVersionID),
		Activate:          in.Activate,
		Reason:            in.Reason,
		Acknowledged:      in.AcknowledgeContractBreak,
	}
	if in.Variables != nil {
		d.Content.Variables = toVariables(*in.Variables)
	}
	return d
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

// unfilledChats returns the chats that cannot reply with a version that was activated, or will be.
func unfilledChats(r *server.Call, id prompt.ID, version prompt.VersionID) (*[]openapi.UnfilledChat, error) {
	unfilled, _, err := r.Chats.Unfilled(r.Context(), r.By, id, prompt.Ref{ID: version})
	return new(convert.Slice(unfilled, toUnfilledChat)), err
}

func toUnfilledChat(u *chats.Unfilled) openapi.UnfilledChat {
	return openapi.UnfilledChat{ID: string(u.ID), Name: u.Name, Variables: convert.NonNil(u.Variables)}
}

func toCheckThreshold(h *prompt.Threshold) openapi.CheckThreshold {
	return openapi.CheckThreshold{Name: h.Name, AtLeast: h.AtLeast, AtMost: h.AtMost}
}

// thresholdChanges reads a merge patch's member.
func thresholdChanges(in nullable.Nullable[[]openapi.CheckThreshold]) *[]prompt.Threshold {
	thresholds := convert.OrZero(in)
	if thresholds == nil {
		return nil
	}
	return new(convert.Slice(*thresholds, checkThreshold))
}

func checkThreshold(in *openapi.CheckThreshold) prompt.Threshold {
	return prompt.Threshold{Name: in.Name, AtLeast: in.AtLeast, AtMost: in.AtMost}
}
