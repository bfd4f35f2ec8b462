package rest

import (
	"encoding/json"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/page"
)

func chatVersionOperations() []operation {
	const template = "/api/chat-templates/{template_id}"
	return []operation{
		postOf(template+"/copy", command(copyChat)),
		getOf(template+"/publications", query(listChatPublications)),
		getOf(template+"/versions", query(listChatVersions)),
		getOf(template+"/versions/{version_id}", query(getChatVersion)),
		getOf(template+"/versions/{version_id}/diff", query(diffChatVersions)),
		postOf(template+"/versions/{version_id}/publish", command(publishChatVersion)),
	}
}

func chatVersionRef(r *request) chat.VersionRef {
	return chat.ParseVersionRef(pathVar(r.Request, "version_id"))
}

func copyChat(r *request) (reply, error) {
	in, err := decode[openapi.ChatTemplateCopy](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Copy(r.Context(), r.by, chatID(r), chat.Copying{
		Name: in.Name, Visibility: access.Visibility(in.Visibility),
	})
	if err != nil {
		return reply{}, err
	}
	return created(chatPath(t), toChat(r, t)).withRevision(t.Revision).readableAt(chatPath(t)), nil
}

func listChatVersions(r *request) (reply, error) {
	return listing(r, toChatVersion, func(q page.Query) (chat.VersionPage, error) {
		return r.Chats.Versions(r.Context(), r.by, chatID(r), q)
	})
}

func listChatPublications(r *request) (reply, error) {
	return listing(r, toPublication, func(q page.Query) (chat.PublicationPage, error) {
		return r.Chats.Publications(r.Context(), r.by, chatID(r), q)
	})
}

func getChatVersion(r *request) (reply, error) {
	t, v, err := r.Chats.Version(r.Context(), r.by, chatID(r), chatVersionRef(r))
	if err != nil {
		return reply{}, err
	}
	out := openapi.ChatVersionWithContent{Content: toChatContent(&v.Content)}
	if v.ID != "" {
		out.Version = nullable.NewNullableWithValue(toChatVersion(&v.VersionInfo))
	} else {
		out.Version = nullable.NewNullNullable[openapi.ChatVersion]()
	}
	return ok(out).withRevision(t.Revision), nil
}

func diffChatVersions(r *request) (reply, error) {
	against := chat.VersionRef{Published: true}
	if text := r.query.Get("against"); text != "" {
		against = chat.ParseVersionRef(text)
	}
	both, err := r.Chats.Compare(r.Context(), r.by, chatID(r), against, chatVersionRef(r))
	if err != nil {
		return reply{}, err
	}
	from, to := both.Against, both.Version
	changed := from.Differences(to.Content)
	changes, err := chatChangesBetween(from, to, changed)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ChatVersionDiff{
		Against:       versionName(from),
		Version:       versionName(to),
		Unified:       chat.UnifiedInstructions(versionName(from), versionName(to), from.Content, to.Content),
		ChangedFields: convert.NonNil(changed),
		Changes:       changes,
	}), nil
}

func publishChatVersion(r *request) (reply, error) {
	in, err := decode[openapi.ChatPublish](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Publish(r.Context(), r.by, chatID(r), r.match, chatVersionRef(r), chat.Release{
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
		ModelConfig:          convert.FromModel(c.Model),
		Greeting:             c.Greeting,
		ConversationStarters: convert.NonNil(c.Starters),
		Metadata:             convert.OrEmpty(c.Metadata, "{}"),
		Reply:                fromReply(c.Reply),
		Theme:                convert.FromTheme(c.Theme),
	}
	return out
}

// chatChangesBetween returns the values of the fields that differ, other than those that the unified diff shows.
func chatChangesBetween(from, to *chat.Version, changed []string) ([]openapi.FieldChange, error) {
	var before, after map[string]json.RawMessage
	for values, c := range map[*map[string]json.RawMessage]*chat.Content{&before: &from.Content, &after: &to.Content} {
		text, err := json.Marshal(toChatContent(c))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, values); err != nil {
			return nil, err
		}
	}
	changes := []openapi.FieldChange{}
	for _, field := range changed {
		if field != "instructions" {
			changes = append(changes, openapi.FieldChange{Field: field, From: before[field], To: after[field]})
		}
	}
	return changes, nil
}
