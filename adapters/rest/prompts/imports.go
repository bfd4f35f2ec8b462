package prompts

import (
	"fmt"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func importPrompts(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptImport](r)
	if err != nil {
		return server.Reply{}, err
	}
	all, err := importedFiles(r, in)
	if err != nil {
		return server.Reply{}, err
	}
	results, err := r.Prompts.Import(r.Context(), r.By, all)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.PromptImportResult{Data: make([]openapi.ImportedPrompt, len(results))}
	for i, res := range results {
		out.Data[i] = openapi.ImportedPrompt{
			Name:             res.Name,
			PromptTemplateID: string(res.ID),
			VersionNumber:    res.Number,
			Outcome:          openapi.ImportOutcome(res.Outcome),
		}
	}
	return server.OK(out), nil
}

// importedFiles reads the files, or Langfuse's prompts, in an import.
func importedFiles(r *server.Call, in openapi.PromptImport) ([]prompt.Imported, error) {
	activate := r.Query.Get("activate") == "true"
	if (len(in.Files) == 0) == (len(in.Langfuse) == 0) {
		return nil, fault.InField("/files", "required", "Give either files or langfuse.")
	}
	if len(in.Langfuse) > 0 {
		return langfusePrompts(r, in.Langfuse, activate)
	}
	names := map[string]bool{}
	all := make([]prompt.Imported, len(in.Files))
	for i, f := range in.Files {
		pointer := fmt.Sprintf("/files/%d", i)
		p, err := importedFile(r, pointer, f, activate)
		if err != nil {
			return nil, err
		}
		if key := prompt.NameKey(p.Draft.Name); names[key] {
			return nil, fault.InField(pointer+"/path", "duplicate_item", "Another file has the same name of a prompt.")
		} else {
			names[key] = true
		}
		all[i] = p
	}
	return all, nil
}
