package convert

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// ToModel returns nil for an empty configuration.
func ToModel(in openapi.PromptModelConfig) *prompt.ModelConfig {
	m := prompt.ModelConfig{
		Provider:      in.Provider,
		ModelName:     in.ModelName,
		Temperature:   in.Temperature,
		MaxTokens:     in.MaxTokens,
		TopP:          in.TopP,
		TopK:          in.TopK,
		StopSequences: in.StopSequences,
		ExtraParams:   in.ExtraParams,
	}
	if m.Provider == "" && m.ModelName == "" && m.Temperature == nil && m.MaxTokens == nil && m.TopP == nil &&
		m.TopK == nil && m.StopSequences == nil && m.ExtraParams == nil {
		return nil
	}
	return &m
}

// FromModel returns an empty configuration for nil.
func FromModel(m *prompt.ModelConfig) openapi.PromptModelConfig {
	if m == nil {
		return openapi.PromptModelConfig{}
	}
	return openapi.PromptModelConfig{
		Provider:      m.Provider,
		ModelName:     m.ModelName,
		Temperature:   m.Temperature,
		MaxTokens:     m.MaxTokens,
		TopP:          m.TopP,
		TopK:          m.TopK,
		StopSequences: m.StopSequences,
		ExtraParams:   m.ExtraParams,
	}
}

// PatchModel merges a patch into a model configuration.
func PatchModel(old *prompt.ModelConfig, in openapi.PromptModelConfigPatch) *prompt.ModelConfig {
	m := FromModel(old)
	patchField(&m.Provider, in.Provider)
	patchField(&m.ModelName, in.ModelName)
	patchField(&m.StopSequences, in.StopSequences)
	m.Temperature = patchPtr(m.Temperature, in.Temperature)
	m.MaxTokens = patchPtr(m.MaxTokens, in.MaxTokens)
	m.TopP = patchPtr(m.TopP, in.TopP)
	m.TopK = patchPtr(m.TopK, in.TopK)
	if in.ExtraParams.IsNull() {
		m.ExtraParams = nil
	} else if in.ExtraParams.IsSpecified() {
		m.ExtraParams = mergeMembers(m.ExtraParams, in.ExtraParams.MustGet())
	}
	return ToModel(m)
}
