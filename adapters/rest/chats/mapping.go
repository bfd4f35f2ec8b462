package chats

import (
	"encoding/json"
	"net/url"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
)

func toChatMemberAdded(addition *chats.Added) openapi.ChatMemberAdded {
	m := toChatMember(&addition.Member)
	out := openapi.ChatMemberAdded{
		UserID:    m.UserID,
		Email:     m.Email,
		Name:      m.Name,
		Role:      m.Role,
		Status:    m.Status,
		InvitedBy: m.InvitedBy,
		Revision:  m.Revision,
		CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt,
	}
	if addition.Invitation != nil {
		out.AcceptURL, out.Mailed = addition.AcceptURL, new(addition.Mailed)
	}
	return out
}

func toChatMember(m *chat.Member) openapi.ChatMember {
	status := openapi.ChatMemberStatusActive
	if m.Invited {
		status = openapi.ChatMemberStatusInvited
	}
	return openapi.ChatMember{
		UserID:    string(m.User),
		Email:     openapi.OrNull(m.Email),
		Name:      m.Name,
		Role:      openapi.ChatRole(m.Role.String()),
		Status:    status,
		InvitedBy: openapi.OrNull(string(m.InvitedBy)),
		Revision:  m.Revision,
		CreatedAt: openapi.Time(m.CreatedAt),
		UpdatedAt: openapi.Time(m.UpdatedAt),
	}
}

func toMemberGrant(c *openapi.ChatMemberChange) chat.Grant {
	g := chat.Grant{User: identity.UserID(c.UserID), Email: c.Email}
	if role, err := c.Role.Get(); err == nil { // null: none
		g.Role = access.Parse(string(role))
	}
	return g
}

func toMemberChanged(c *chat.MemberChanged) openapi.ChatMemberChanged {
	m := c.Member
	if c.Action == chat.MemberRemoved {
		m = chat.Member{User: m.User}
	}
	role := openapi.ChatMemberRole("")
	if m.Role != access.None {
		role = openapi.ChatMemberRole(m.Role.String())
	}
	return openapi.ChatMemberChanged{
		UserID:   string(m.User),
		Action:   openapi.ChatMemberAction(c.Action),
		Role:     openapi.OrNull(role),
		Revision: openapi.OrNull(m.Revision),
	}
}

// chatFilter reads a list's filter.
func chatFilter(q url.Values) chat.Filter {
	return chat.Filter{
		Query:      q.Get("q"),
		Status:     chat.Status(q.Get("status")),
		Visibility: access.Visibility(q.Get("visibility")),
	}
}

func chatDraft(in openapi.ChatTemplateCreate) chat.Draft {
	return chat.Draft{
		Content: chat.Content{
			Name:         in.Name,
			Description:  in.Description,
			AvatarURL:    in.AvatarURL,
			Instructions: in.Instructions,
			Prompt:       toChatPrompt(in.Prompt),
			Agents:       toSelected(in.Agents),
			Tools:        toSelected(in.Tools),
			Capabilities: in.Capabilities,
			Model:        convert.ToModel(in.ModelConfig),
			Greeting:     in.Greeting,
			Starters:     in.ConversationStarters,
			Translations: convert.Slice(in.Translations, convert.ToTranslation),
			Metadata:     in.Metadata,
			Reply:        toReply(in.Reply),
			Theme:        convert.ToTheme(in.Theme),
		},
		Status:     chat.Status(in.Status),
		Visibility: access.Visibility(in.Visibility),
	}
}

// chatChanges reads a merge patch (RFC 7396).
func chatChanges(in openapi.ChatTemplatePatch) chat.Changes {
	c := chat.Changes{
		Name:         in.Name,
		Description:  convert.OrZero(in.Description),
		AvatarURL:    convert.OrZero(in.AvatarURL),
		Instructions: convert.OrZero(in.Instructions),
		Capabilities: convert.OrZero(in.Capabilities),
		Greeting:     convert.OrZero(in.Greeting),
		Starters:     convert.OrZero(in.ConversationStarters),
		Status:       (*chat.Status)(in.Status),
		Visibility:   (*access.Visibility)(in.Visibility),
		Owner:        (*identity.UserID)(in.OwnerID),
		Metadata:     convert.PatchJSON(in.Metadata),
	}
	if p := convert.OrZero(in.Prompt); p != nil {
		c.Prompt = new(toChatPrompt(*p))
	}
	if r := convert.OrZero(in.Reply); r != nil {
		c.Reply = new(toReply(r))
	}
	if list := convert.OrZero(in.Translations); list != nil {
		c.Translations = new(convert.Slice(*list, convert.ToTranslation))
	}
	if v := convert.OrZero(in.Transcripts); v != nil {
		c.Transcripts = new(webhook.ID(v.WebhookID))
	}
	if t := convert.OrZero(in.Theme); t != nil {
		c.Theme = new(convert.ToTheme(t))
	}
	if v := convert.OrZero(in.Agents); v != nil {
		c.Agents = new(toSelected(*v))
	}
	if v := convert.OrZero(in.Tools); v != nil {
		c.Tools = new(toSelected(*v))
	}
	if in.ModelConfig.IsSpecified() {
		c.Model = func(old *prompt.ModelConfig) *prompt.ModelConfig {
			if in.ModelConfig.IsNull() {
				return nil
			}
			return convert.PatchModel(old, in.ModelConfig.MustGet())
		}
	}
	return c
}

func toRegistryItem(i *chat.Item) openapi.RegistryItem {
	out := openapi.RegistryItem{
		ID:           i.ID,
		Name:         i.Name,
		Description:  i.Description,
		Version:      i.Version,
		Status:       openapi.RegistryStatus(i.Status),
		ConfigSchema: nullable.NewNullNullable[json.RawMessage](),
		Requires:     convert.NonNil(i.Requires),
		Effects:      openapi.RegistryEffects(i.Effects),
		EmbedSafe:    i.EmbedSafe,
	}
	if i.ConfigSchema != nil {
		out.ConfigSchema = nullable.NewNullableWithValue(i.ConfigSchema)
	}
	return out
}

// toChat returns a template with its issues, as this caller sees it.
func toChat(r *server.Call, t *chat.Template, issues []chat.Issue) openapi.ChatTemplate {
	out := toChatSummary(r, new(t.Summary()))
	out.Health, out.Issues = toHealth(issues)
	if !t.SeesInside(r.By) {
		return out
	}
	out.Instructions = &t.Instructions
	out.Agents, out.Tools = convert.Slice(t.Agents, fromSelected), convert.Slice(t.Tools, fromSelected)
	out.ModelConfig = new(convert.FromModel(t.Model))
	out.Reply, out.Theme = new(fromReply(t.Reply)), new(convert.FromTheme(t.Theme))
	out.Translations = new(convert.Slice(t.Translations, convert.FromTranslation))
	if out.Transcripts = nullable.NewNullNullable[openapi.ChatTranscripts](); t.Transcripts != "" {
		out.Transcripts = nullable.NewNullableWithValue(openapi.ChatTranscripts{WebhookID: string(t.Transcripts)})
	}
	out.Prompt, out.UnpublishedChanges = fromChatPrompt(t.Prompt), new(t.HasChanges())
	return out
}

func fromReply(r chat.Reply) openapi.ChatReply {
	if !r.Answers() {
		return openapi.ChatReply{Kind: openapi.ChatReplyKindNone}
	}
	return openapi.ChatReply{
		Kind:         openapi.ChatReplyKind(r.Kind),
		ConnectionID: string(r.Connection),
		Model:        r.Model,
		Variables:    r.Variables,

		ShowReasoning: r.ShowReasoning,
		AskFeedback:   r.AskFeedback,

		VisitorVariables: r.FromVisitor,
	}
}

func fromChatPrompt(p chat.Prompt) nullable.Nullable[openapi.ChatPrompt] {
	if p == (chat.Prompt{}) {
		return nullable.NewNullNullable[openapi.ChatPrompt]()
	}
	return nullable.NewNullableWithValue(openapi.ChatPrompt{PromptTemplateID: string(p.Template), Ref: p.Ref})
}

// toChatRuntime has no prompt if the template uses none, and no instructions if they could not be rendered.
func toChatRuntime(r *chats.Runtime) openapi.ChatRuntime {
	t := r.Template
	out := openapi.ChatRuntime{
		ChatTemplateID:   string(t.ID),
		Name:             t.Name,
		Status:           openapi.ChatStatus(t.Status),
		Instructions:     r.Instructions,
		Prompt:           nullable.NewNullNullable[openapi.ChatRuntimePrompt](),
		Agents:           convert.Slice(t.Agents, fromSelected),
		Tools:            convert.Slice(t.Tools, fromSelected),
		Capabilities:     convert.NonNil(t.Capabilities),
		Workflows:        convert.Slice(r.Effective.Workflows, toRegistryItem),
		ModelConfig:      convert.FromModel(r.Model),
		ModelConfigFrom:  map[string]openapi.ChatSource{},
		PromptTools:      convert.OrEmpty(r.Effective.Tools, "[]"),
		ResponseFormat:   convert.RawOrNull(r.ResponseFormat),
		Revision:         t.Revision,
		PublishedVersion: nullable.NewNullNullable[int](),
	}
	for member, source := range r.ModelFrom {
		out.ModelConfigFrom[member] = openapi.ChatSource(source)
	}
	out.Health, out.Issues = toHealth(r.Issues)
	if t.Published != nil {
		out.PublishedVersion = nullable.NewNullableWithValue(t.Published.Number)
	}
	if r.Version != nil {
		out.Prompt = nullable.NewNullableWithValue(openapi.ChatRuntimePrompt{
			PromptTemplateID: string(t.Prompt.Template),
			Ref:              t.Prompt.Ref,
			VersionID:        string(r.Version.ID),
			Version:          r.Version.Number,
		})
	}
	return out
}

// toChatSummary returns the template part that lists show.
func toChatSummary(r *server.Call, t *chat.Summary) openapi.ChatTemplate {
	health, issues := toHealth(r.Chats.Registry(r.By).Issues(t))
	item := func(id *string) openapi.ChatItem { return openapi.ChatItem{ID: *id} }
	number := nullable.NewNullNullable[int]()
	if t.PublishedID != "" {
		number = nullable.NewNullableWithValue(t.PublishedNumber)
	}
	return openapi.ChatTemplate{
		PublishedVersionID:   openapi.OrNull(string(t.PublishedID)),
		PublishedVersion:     number,
		ID:                   string(t.ID),
		Name:                 t.Name,
		Description:          t.Description,
		AvatarURL:            openapi.OrNull(t.AvatarURL),
		Status:               openapi.ChatStatus(t.Status),
		Agents:               convert.Slice(t.Agents, item),
		Tools:                convert.Slice(t.Tools, item),
		Capabilities:         convert.NonNil(t.Capabilities),
		Greeting:             t.Greeting,
		ConversationStarters: convert.NonNil(t.Starters),
		Visibility:           openapi.Visibility(t.Visibility),
		Metadata:             convert.OrEmpty(t.Metadata, "{}"),
		OwnerID:              string(t.Owner),
		Workflows:            convert.Slice(t.Workflows, toWorkflow),
		MyRole:               openapi.ChatRole(t.Access(r.By).String()),
		Health:               health,
		Issues:               issues,
		Revision:             t.Revision,
		CreatedAt:            openapi.Time(t.CreatedAt),
		CreatedBy:            string(t.CreatedBy),
		UpdatedAt:            openapi.Time(t.UpdatedAt),
	}
}

func toHealth(issues []chat.Issue) (openapi.ChatHealth, []openapi.ChatIssue) {
	health := openapi.ChatHealthOk
	if len(issues) > 0 {
		health = openapi.ChatHealthDegraded
	}
	return health, convert.Slice(issues, toIssue)
}

func toIssue(i *chat.Issue) openapi.ChatIssue {
	return openapi.ChatIssue{Code: openapi.ChatIssueCode(i.Code), Pointer: i.Pointer, Detail: i.Detail}
}

func toWorkflow(w *chat.Workflow) openapi.ChatWorkflow {
	return openapi.ChatWorkflow{
		WorkflowID: w.ID,
		AttachedBy: string(w.AttachedBy),
		AttachedAt: openapi.Time(w.AttachedAt),
	}
}

func toChatPrompt(in openapi.ChatPrompt) chat.Prompt {
	return chat.Prompt{Template: prompt.ID(in.PromptTemplateID), Ref: in.Ref}
}

func toSelected(in []openapi.ChatItem) []chat.Selected {
	return convert.Slice(
		in, func(i *openapi.ChatItem) chat.Selected { return chat.Selected{ID: i.ID, Config: i.Config} },
	)
}

func fromSelected(s *chat.Selected) openapi.ChatItem {
	return openapi.ChatItem{ID: s.ID, Config: s.Config}
}

// toReply reads a chat's reply endpoint; nil means none.
func toReply(in *openapi.ChatReply) chat.Reply {
	if in == nil || in.Kind == "" {
		return chat.Reply{Kind: chat.NoReply}
	}
	return chat.Reply{
		Kind:       chat.ReplyKind(in.Kind),
		Connection: connection.ID(in.ConnectionID),
		Model:      in.Model,
		Variables:  in.Variables,

		ShowReasoning: in.ShowReasoning,
		AskFeedback:   in.AskFeedback,
		FromVisitor:   in.VisitorVariables,
	}
}
