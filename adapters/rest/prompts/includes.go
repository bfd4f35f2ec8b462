package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// toIncludes returns nil if v includes nothing. The included versions are known for a released version, and for one
// that has their texts.
func toIncludes(v *prompt.Version) []openapi.PromptInclude {
	if v.Pinned == nil {
		return convert.Slice(v.Includes, func(i *prompt.Include) openapi.PromptInclude {
			return toInclude(&prompt.Included{Include: *i})
		})
	}
	return convert.Slice(v.Pinned.Includes, toInclude)
}

func toInclude(i *prompt.Included) openapi.PromptInclude {
	return openapi.PromptInclude{Name: i.Name, Ref: i.Ref, PromptTemplateID: string(i.Template),
		VersionID: openapi.OrNull(string(i.Version)), VersionNumber: openapi.OrNull(i.Number),
		Degraded: i.Lost}
}
