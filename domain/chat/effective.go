package chat

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/atrium-hq/atrium/domain/prompt"
)

// Source says where a part of what runs a chat comes from.
type Source string

// The sources.
const (
	FromPrompt Source = "prompt"
	FromChat   Source = "chat" // the chat template itself
)

// Effective is what a model gets: a chat template together with its prompt's version.
type Effective struct {
	Instructions string

	Model     *prompt.ModelConfig // the prompt's, with the chat's members instead of those that both have
	ModelFrom map[string]Source   // by the names of Model's members in JSON

	Tools          json.RawMessage // the prompt's: a JSON array, or nil
	ResponseFormat json.RawMessage // the prompt's: a JSON object, or nil

	Workflows []Item // that the program which runs the chat may start, as the registry describes them

	Prompt *PromptVersion // that the instructions are from; nil if they are the chat's own
}

// PromptVersion is a prompt template's version, and how it was chosen.
type PromptVersion struct {
	Template prompt.ID        `json:"t"`
	Version  prompt.VersionID `json:"v"`
	Number   int              `json:"n"`
	Rollout  string           `json:"l,omitempty"` // the label whose rollout chose it; empty: none did
	Weight   int              `json:"w,omitempty"` // percent of the rollout's readers that get the version
}

// VersionOf returns v, and how it was chosen.
func VersionOf(v *prompt.Version) *PromptVersion {
	out := &PromptVersion{Template: v.Template, Version: v.ID, Number: v.Number}
	if v.Choice != nil {
		out.Rollout, out.Weight = v.Choice.Rollout.Label, v.Choice.Weight
	}
	return out
}

// Own returns what a model gets if the chat has no prompt.
func (c Content) Own() Effective {
	e := Effective{Instructions: c.Instructions}
	e.Model, e.ModelFrom = overlay(nil, c.Model)
	return e
}

// Effective returns what a model gets if the chat has this prompt version. The variables have the values of
// overrides, or else the values of the chat's reply. Returns the errors of prompt.Content.Render in the mode strict:
// without all required values there are no instructions.
func (c Content) Effective(p prompt.Content, overrides map[string]any) (Effective, error) {
	e := Effective{Tools: p.Tools, ResponseFormat: p.ResponseFormat}
	e.Model, e.ModelFrom = overlay(p.Model, c.Model)
	values := map[string]any{}
	if c.Reply.Variables != nil {
		if err := json.Unmarshal(c.Reply.Variables, &values); err != nil {
			return Effective{}, err
		}
	}
	maps.Copy(values, overrides)
	instructions, err := p.Instructions()
	if err != nil {
		return Effective{}, err
	}
	out, err := instructions.Render(values, prompt.Strict)
	if err != nil {
		return Effective{}, err
	}
	var texts []string
	if out.Text != "" {
		texts = append(texts, out.Text)
	}
	for _, m := range out.Messages {
		texts = append(texts, m.Texts()...)
	}
	e.Instructions = strings.Join(texts, "\n\n")
	return e, nil
}

// overlay returns the members that are set in either configuration, and where each comes from; nil if none is set.
func overlay(base, top *prompt.ModelConfig) (*prompt.ModelConfig, map[string]Source) {
	out, sources := &prompt.ModelConfig{}, map[string]Source{}
	set := func(m *prompt.ModelConfig, from Source) {
		if m == nil {
			return
		}
		for field, value := range reflect.ValueOf(*m).Fields() {
			if !value.IsZero() {
				reflect.ValueOf(out).Elem().FieldByIndex(field.Index).Set(value)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				sources[name] = from
			}
		}
	}
	set(base, FromPrompt)
	set(top, FromChat)
	if len(sources) == 0 {
		return nil, nil
	}
	return out, sources
}
