package rest

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func listFolders(r *request) (reply, error) {
	found, complete, err := r.Prompts.Folders(r.Context(), r.by, strings.TrimSuffix(r.query.Get("prefix"), "/"))
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.PromptFolders{Complete: complete, Data: convert.NonNil(convert.Slice(found,
		func(f *prompt.Folder) openapi.PromptFolder {
			return openapi.PromptFolder{Path: f.Path, TemplateCount: f.Templates}
		}))}), nil
}

func listTags(r *request) (reply, error) {
	found, complete, err := r.Prompts.Tags(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.PromptTags{Complete: complete, Data: convert.NonNil(convert.Slice(found,
		func(t *prompt.Tag) openapi.PromptTag {
			return openapi.PromptTag{Tag: t.Name, TemplateCount: t.Templates}
		}))}), nil
}

func moveFolder(r *request) (reply, error) {
	in, err := decode[openapi.PromptFolderMove](r)
	if err != nil {
		return reply{}, err
	}
	moved, err := r.Prompts.MoveFolder(r.Context(), r.by, in.From, in.To)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.PromptFolderMoved{TemplateCount: moved}), nil
}
