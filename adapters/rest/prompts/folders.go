package prompts

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func listFolders(r *server.Call) (server.Reply, error) {
	found, complete, err := r.Prompts.Folders(r.Context(), r.By, strings.TrimSuffix(r.Query.Get("prefix"), "/"))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PromptFolders{Complete: complete, Data: convert.NonNil(convert.Slice(found,
		func(f *prompt.Folder) openapi.PromptFolder {
			return openapi.PromptFolder{Path: f.Path, TemplateCount: f.Templates}
		}))}), nil
}

func listTags(r *server.Call) (server.Reply, error) {
	found, complete, err := r.Prompts.Tags(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PromptTags{Complete: complete, Data: convert.NonNil(convert.Slice(found,
		func(t *prompt.Tag) openapi.PromptTag {
			return openapi.PromptTag{Tag: t.Name, TemplateCount: t.Templates}
		}))}), nil
}

func moveFolder(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptFolderMove](r)
	if err != nil {
		return server.Reply{}, err
	}
	count, err := r.Prompts.MoveFolder(r.Context(), r.By, in.From, in.To)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PromptFolderMoved{TemplateCount: count}), nil
}
