package prompts

import (
	"bytes"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func versionRef(r *server.Call) prompt.Ref {
	return prompt.ParseRef(server.PathVar(r.Request, "version_id"))
}

func listVersions(r *server.Call) (server.Reply, error) {
	var reading *prompt.Reading
	summary := func(v *prompt.VersionSummary) openapi.PromptVersionSummary { return toVersionSummary(reading, v) }
	return server.List(r, summary, func(q page.Query) (found prompt.VersionPage, err error) {
		reading, found, err = r.Prompts.Versions(r.Context(), r.By, promptID(r), q)
		return found, err
	})
}

func createVersion(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptVersionCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, v, err := r.Prompts.AddVersion(r.Context(), r.By, promptID(r), versionDraft(in))
	return createdReply(r, t, v, in.Activate, err)
}

// writeVersion creates a version by the name of its template. The body has the members of createVersion's, and more.
func writeVersion(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptVersionWrite](r)
	if err != nil {
		return server.Reply{}, err
	}
	create, err := server.Decode[openapi.PromptVersionCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, v, err := r.Prompts.WriteVersion(
		r.Context(), r.By, in.Name, access.Visibility(in.Visibility), versionDraft(create),
	)
	return createdReply(r, t, v, create.Activate, err)
}

// createdReply returns a version that was created, and perhaps activated.
func createdReply(
	r *server.Call, t *prompt.Reading, v *prompt.Version, isActivated bool, err error,
) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	path, body := promptPath(t.ID)+"/versions/"+string(v.ID), toVersion(t, v)
	if isActivated {
		if body.ChatsMissingVariables, err = unfilledChats(r, t.ID, v.ID); err != nil {
			return server.Reply{}, err
		}
	}
	return server.Created(path, body).WithRevision(v.Revision).ReadableAt(path), nil
}

func getVersion(r *server.Call) (server.Reply, error) {
	r.TrackedOnly = true
	t, v, err := r.Prompts.Version(r.Context(), r.By, promptID(r), versionRef(r))
	return readingReply(r, t, v, err)
}

// updateVersion sets Content only if the patch changes content, because a frozen version accepts other changes.
func updateVersion(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptVersionPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	c := prompt.VersionChanges{CommitMessage: convert.OrZero(in.CommitMessage), Labels: convert.OrZero(in.Labels)}
	if in.Text != nil || in.Messages != nil || in.Format != nil || in.Variables.IsSpecified() ||
		in.ModelConfig.IsSpecified() || in.Tools.IsSpecified() || in.ResponseFormat.IsSpecified() {
		c.Content = func(old prompt.Content) prompt.Content { return patchContent(old, in) }
		c.InferVariables = in.Variables.IsNull()
		c.VariablesDeclared = in.Variables.IsSpecified() && !in.Variables.IsNull()
	}
	t, v, err := r.Prompts.ChangeVersion(r.Context(), r.By, promptID(r), versionRef(r), r.Match, c)
	return versionReply(t, v, err)
}

func deleteVersion(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Prompts.DeleteVersion(r.Context(), r.By, promptID(r), versionRef(r), r.Match)
}

func renderPrompt(r *server.Call) (server.Reply, error) {
	r.TrackedOnly = true
	in, err := server.Decode[openapi.RenderRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	values := make(map[string]any, len(in.Variables))
	for name, value := range in.Variables {
		values[name] = value
	}
	out, t, v, err := r.Prompts.Render(
		r.Context(), r.By, promptID(r), refOr(in.Ref, "active"), in.Key, values, prompt.Mode(in.Mode),
	)
	if err != nil {
		return server.Reply{}, err
	}
	showVersions(r, v)
	result := openapi.RenderResult{
		Rollout:     toChoice(v.Choice),
		Version:     toVersionRef(v),
		ContentHash: v.ContentHash,
		Missing:     convert.NonNil(out.Missing),
		Unused:      convert.NonNil(out.Unused),
	}
	if t.Type == prompt.Chat {
		result.Messages = out.Messages
	} else {
		result.Text = &out.Text
	}
	body, err := server.Verbatim(result) // for the messages that the application inserted
	return server.OK(body), err
}

func resolvePrompt(r *server.Call) (server.Reply, error) {
	r.TrackedOnly = true
	t, v, err := r.Prompts.ResolvedByName(
		r.Context(), r.By, r.Query.Get("name"), refOr(r.Query.Get("ref"), "active"), r.Query.Get("key"),
	)
	return readingReply(r, t, v, err)
}

// resolvePrompts responds with 200 even if some references fail: each has its own version or error.
func resolvePrompts(r *server.Call) (server.Reply, error) {
	r.TrackedOnly = true
	in, err := server.Decode[openapi.ResolveRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	queries := make([]prompts.Wanted, len(in.Refs))
	for i, ref := range in.Refs {
		queries[i] = prompts.Wanted{
			ID:   prompt.ID(ref.PromptTemplateID),
			Name: ref.Name,
			Ref:  refOr(ref.Ref, "active"),
			Key:  in.Key,
		}
	}
	found, err := r.Prompts.Resolve(r.Context(), r.By, queries)
	if err != nil {
		return server.Reply{}, err
	}
	var versions []*prompt.Version
	for _, f := range found {
		if f.Err == nil {
			versions = append(versions, f.Version)
		}
	}
	showVersions(r, versions...)
	body, err := resolveResult(in.Refs, found)
	return server.OK(server.JSON(body)), err
}

// resolveResult returns an openapi.ResolveResult as JSON. It encodes each version once, for its ETag and for the
// response. Encoding everything at once takes 50 % more memory for 8 MiB of versions.
func resolveResult(refs []openapi.ResolveRef, found []prompts.Resolved) ([]byte, error) {
	size := 0
	for _, f := range found {
		if size += 1 << 10; f.Err == nil {
			size += f.Version.Content.Size()
		}
	}
	var body, item, version bytes.Buffer
	body.Grow(size)
	body.WriteString(`{"data":[`)
	for i, f := range found {
		item.Reset()
		result := openapi.ResolvedPrompt{
			PromptTemplateID: refs[i].PromptTemplateID,
			Name:             refs[i].Name,
			Ref:              convert.OrDefault(refs[i].Ref, "active"),
		}
		if f.Err != nil {
			problem := server.PublicError(f.Err)
			result.Error = &openapi.ResolveError{Code: problem.Code, Detail: problem.Detail}
		} else {
			version.Reset()
			if err := server.Encode(&version, toVersion(f.Template, f.Version)); err != nil {
				return nil, err
			}
			result.PromptTemplateID, result.Name = string(f.Template.ID), f.Template.Name
			result.Rollout = toDivision(f.Rollout)
			result.ETag = server.ETag(f.Version.Revision, version.Bytes())
			result.NotModified = refs[i].IfNoneMatch != "" && server.NoneMatch([]string{refs[i].IfNoneMatch},
				result.ETag)
		}
		if err := server.Encode(&item, result); err != nil {
			return nil, err
		}
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(bytes.TrimSuffix(item.Bytes(), []byte("}\n")))
		if f.Err == nil && !result.NotModified {
			body.WriteString(`,"version":`)
			body.Write(bytes.TrimSuffix(version.Bytes(), []byte("\n")))
		}
		body.WriteByte('}')
	}
	body.WriteString("]}\n")
	return body.Bytes(), nil
}

func refOr(ref, otherwise string) prompt.Ref {
	return prompt.ParseRef(convert.OrDefault(ref, otherwise))
}

// readingReply is versionReply for an operation that counts as a read of the version.
func readingReply(r *server.Call, t *prompt.Reading, v *prompt.Version, err error) (server.Reply, error) {
	if err == nil {
		showVersions(r, v)
	}
	return versionReply(t, v, err)
}

func versionReply(t *prompt.Reading, v *prompt.Version, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toVersion(t, v)).WithRevision(v.Revision), nil
}
