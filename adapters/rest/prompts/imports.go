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
	onError := r.Query.Get("on_error")
	report, err := r.Prompts.Import(r.Context(), r.By, all, prompt.Importing{
		Skip: onError == "skip", Raw: onError == "raw", DryRun: r.Query.Get("dry_run") == "true",
	})
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.PromptImportResult{Data: make([]openapi.ImportedPrompt, len(report.Results))}
	for i, res := range report.Results {
		out.Data[i] = openapi.ImportedPrompt{
			Name:             res.Name,
			PromptTemplateID: string(res.ID),
			VersionNumber:    res.Number,
			Outcome:          openapi.ImportOutcome(res.Outcome),
		}
	}
	for _, refusal := range report.Refused {
		out.Skipped = append(out.Skipped, toSkipped(&refusal))
	}
	return server.OK(out), nil
}

func toSkipped(r *prompt.Refusal) openapi.SkippedPrompt {
	out := openapi.SkippedPrompt{Source: r.Source, Errors: []openapi.FieldError{}}
	for _, e := range r.Fields() {
		out.Errors = append(out.Errors, openapi.FieldError{Pointer: e.Pointer, Code: e.Code, Detail: e.Detail})
	}
	return out
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
		p := importedFile(r, fmt.Sprintf("/files/%d", i), f, activate)
		if key := prompt.NameKey(p.Draft.Name); p.Err == nil && names[key] {
			p.Err = p.Refer("", fault.InField("/path", "duplicate_item",
				"Another file has the same name of a prompt."))
		} else {
			names[key] = true
		}
		all[i] = p
	}
	return all, nil
}
