package chats

import (
	"encoding/json"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/page"
)

func chatVersionOperations() []server.Operation {
	const template = "/api/chat-templates/{template_id}"
	return []server.Operation{
		server.Post(template+"/copy", server.Command(copyChat)),
		server.Get(template+"/publications", server.Query(listChatPublications)),
		server.Get(template+"/versions", server.Query(listChatVersions)),
		server.Get(template+"/versions/{version_id}", server.Query(getChatVersion)),
		server.Get(template+"/versions/{version_id}/diff", server.Query(diffChatVersions)),
		server.Post(template+"/versions/{version_id}/publish", server.Command(publishChatVersion)),
	}
}

func chatVersionRef(r *server.Call) chat.VersionRef {
	return chat.ParseVersionRef(server.PathVar(r.Request, "version_id"))
}

func copyChat(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatTemplateCopy](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, err := r.Chats.Copy(r.Context(), r.By, chatID(r), chat.Copying{
		Name: in.Name, Visibility: access.Visibility(in.Visibility),
	})
	if err != nil {
		return server.Reply{}, err
	}
	return newChatReply(r, t)
}

func listChatVersions(r *server.Call) (server.Reply, error) {
	return server.List(r, toChatVersion, func(q page.Query) (chat.VersionPage, error) {
		return r.Chats.Versions(r.Context(), r.By, chatID(r), q)
	})
}

func listChatPublications(r *server.Call) (server.Reply, error) {
	return server.List(r, toPublication, func(q page.Query) (chat.PublicationPage, error) {
		return r.Chats.Publications(r.Context(), r.By, chatID(r), q)
	})
}

func getChatVersion(r *server.Call) (server.Reply, error) {
	t, v, err := r.Chats.Version(r.Context(), r.By, chatID(r), chatVersionRef(r))
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.ChatVersionWithContent{Content: toChatContent(&v.Content)}
	if v.ID != "" {
		out.Version = nullable.NewNullableWithValue(toChatVersion(&v.VersionInfo))
	} else {
		out.Version = nullable.NewNullNullable[openapi.ChatVersion]()
	}
	return server.OK(out).WithRevision(t.Revision), nil
}

// diffChatVersions compares with the published version unless the query names another one.
func diffChatVersions(r *server.Call) (server.Reply, error) {
	base := chat.VersionRef{Published: true}
	if text := r.Query.Get("against"); text != "" {
		base = chat.ParseVersionRef(text)
	}
	comparison, err := r.Chats.Compare(r.Context(), r.By, chatID(r), base, chatVersionRef(r))
	if err != nil {
		return server.Reply{}, err
	}
	from, to := comparison.Against, comparison.Version
	names := from.Differences(to.Content)
	changes, err := chatChangesBetween(from, to, names)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ChatVersionDiff{
		Against:       versionName(from),
		Version:       versionName(to),
		Unified:       chat.UnifiedInstructions(versionName(from), versionName(to), from.Content, to.Content),
		ChangedFields: convert.NonNil(names),
		Changes:       changes,
	}), nil
}

func publishChatVersion(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatPublish](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, err := r.Chats.Publish(r.Context(), r.By, chatID(r), r.Match, chatVersionRef(r), chat.Release{
		Expected: convert.PatchString[chat.VersionID](in.ExpectedPublishedVersionID), Reason: in.Reason,
	})
	return chatReply(r, t, err)
}

// versionName is draft, or v and a number.
func versionName(v *chat.Version) string {
	if v.ID == "" {
		return "draft"
	}
	return "v" + strconv.Itoa(v.Number)
}

func toChatVersion(v *chat.VersionInfo) openapi.ChatVersion {
	return openapi.ChatVersion{
		ID:        string(v.ID),
		Number:    v.Number,
		CreatedBy: string(v.CreatedBy),
		CreatedAt: openapi.Time(v.CreatedAt),
	}
}

func toPublication(p *chat.Publication) openapi.ChatPublication {
	out := openapi.ChatPublication{
		FromVersionID:     openapi.OrNull(string(p.FromID)),
		FromVersionNumber: nullable.NewNullNullable[int](),
		ToVersionID:       string(p.ToID),
		ToVersionNumber:   p.ToNumber,
		Reason:            p.Reason,
		PublishedBy:       string(p.By),
		PublishedAt:       openapi.Time(p.At),
	}
	if p.FromID != "" {
		out.FromVersionNumber = nullable.NewNullableWithValue(p.FromNumber)
	}
	return out
}

// toChatContent is a content as its editors see it.
func toChatContent(c *chat.Content) openapi.ChatContent {
	out := openapi.ChatContent{
		Name:                 c.Name,
		Description:          c.Description,
		AvatarURL:            openapi.OrNull(c.AvatarURL),
		Instructions:         c.Instructions,
		Prompt:               fromChatPrompt(c.Prompt),
		Agents:               convert.Slice(c.Agents, fromSelected),
		Tools:                convert.Slice(c.Tools, fromSelected),
		Capabilities:         convert.NonNil(c.Capabilities),
		Workflows:            chat.WorkflowIDs(c.Workflows),
		ModelConfig:          convert.FromModel(c.Model),
		Greeting:             c.Greeting,
		ConversationStarters: convert.NonNil(c.Starters),
		Translations:         convert.Slice(c.Translations, convert.FromTranslation),
		Metadata:             convert.OrEmpty(c.Metadata, "{}"),
		Reply:                fromReply(c.Reply),
		Theme:                convert.FromTheme(c.Theme),
	}
	return out
}

// chatChangesBetween returns the values of the fields that differ, other than those that the unified diff shows.
func chatChangesBetween(from, to *chat.Version, names []string) ([]openapi.FieldChange, error) {
	var oldFields, newFields map[string]json.RawMessage
	for values, c := range map[*map[string]json.RawMessage]*chat.Content{&oldFields: &from.Content,
		&newFields: &to.Content} {
		text, err := json.Marshal(toChatContent(c))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, values); err != nil {
			return nil, err
		}
	}
	changes := []openapi.FieldChange{}
	for _, field := range names {
		if field != "instructions" {
			changes = append(changes, openapi.FieldChange{Field: field, From: oldFields[field], To: newFields[field]})
		}
	}
	return changes, nil
}
