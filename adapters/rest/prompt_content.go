package rest

import (
	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func toMessages(in []openapi.PromptMessage) []prompt.Message {
	out := make([]prompt.Message, len(in))
	for i, m := range in {
		out[i] = prompt.Message{Role: string(m.Role), Placeholder: m.Placeholder, Required: m.Required}
		if m.Content != nil {
			out[i].Content = *m.Content
		}
	}
	return out
}

func fromMessages(in []prompt.Message) []openapi.PromptMessage {
	return each(in, func(m *prompt.Message) openapi.PromptMessage {
		if m.Placeholder != "" {
			return openapi.PromptMessage{Placeholder: m.Placeholder, Required: m.Required}
		}
		return openapi.PromptMessage{Role: openapi.MessageRole(m.Role), Content: &m.Content}
	})
}

func toVariables(in []openapi.PromptVariable) []prompt.Variable {
	out := make([]prompt.Variable, len(in))
	for i, v := range in {
		out[i] = prompt.Variable{
			Name: v.Name, Type: or(string(v.Type), "string"), Required: v.Required == nil || *v.Required,
			Default: v.Default, Enum: v.Enum, Description: v.Description, Sensitive: v.Sensitive,
		}
	}
	return out
}

func fromVariables(in []prompt.Variable) []openapi.PromptVariable {
	return each(in, func(v *prompt.Variable) openapi.PromptVariable {
		return openapi.PromptVariable{
			Name: v.Name, Type: openapi.VariableType(v.Type), Required: &v.Required,
			Default: v.Default, Enum: v.Enum, Description: v.Description, Sensitive: v.Sensitive,
		}
	})
}

// toModel is nil for a configuration that says nothing.
func toModel(in openapi.PromptModelConfig) *prompt.ModelConfig {
	m := prompt.ModelConfig{
		Provider: in.Provider, ModelName: in.ModelName, Temperature: in.Temperature, MaxTokens: in.MaxTokens,
		TopP: in.TopP, TopK: in.TopK, StopSequences: in.StopSequences, ExtraParams: in.ExtraParams,
	}
	if m.Provider == "" && m.ModelName == "" && m.Temperature == nil && m.MaxTokens == nil && m.TopP == nil && m.TopK == nil &&
		m.StopSequences == nil && m.ExtraParams == nil {
		return nil
	}
	return &m
}

func fromModel(m *prompt.ModelConfig) openapi.PromptModelConfig {
	if m == nil {
		return openapi.PromptModelConfig{}
	}
	return openapi.PromptModelConfig{
		Provider: m.Provider, ModelName: m.ModelName, Temperature: m.Temperature, MaxTokens: m.MaxTokens,
		TopP: m.TopP, TopK: m.TopK, StopSequences: m.StopSequences, ExtraParams: m.ExtraParams,
	}
}

// patchModel merges a patch into a model configuration.
func patchModel(old *prompt.ModelConfig, in openapi.PromptModelConfigPatch) *prompt.ModelConfig {
	m := fromModel(old)
	replace(&m.Provider, in.Provider)
	replace(&m.ModelName, in.ModelName)
	replace(&m.StopSequences, in.StopSequences)
	m.Temperature = pointed(m.Temperature, in.Temperature)
	m.MaxTokens = pointed(m.MaxTokens, in.MaxTokens)
	m.TopP = pointed(m.TopP, in.TopP)
	m.TopK = pointed(m.TopK, in.TopK)
	if in.ExtraParams.IsNull() {
		m.ExtraParams = nil
	} else if in.ExtraParams.IsSpecified() {
		m.ExtraParams = mergeMembers(m.ExtraParams, in.ExtraParams.MustGet())
	}
	return toModel(m)
}

func replace[T any](field *T, n nullable.Nullable[T]) {
	if v := orZero(n); v != nil {
		*field = *v
	}
}

func pointed[T any](old *T, n nullable.Nullable[T]) *T {
	switch {
	case !n.IsSpecified():
		return old
	case n.IsNull():
		return nil
	default:
		v := n.MustGet()
		return &v
	}
}
