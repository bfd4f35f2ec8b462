package chats

import (
	"encoding/json"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// A template is read together with the caller's membership. The arguments of summaries begin with promptLostColumn's.
var (
	commonColumns = `t.id, t.workspace_id, t.owner_id, t.name, t.description, t.avatar_url, t.agents,
		t.tools, t.capabilities, t.greeting, t.starters, t.metadata, t.workflows, t.status, t.visibility,
		t.revision, t.created_at, t.created_by, t.updated_at, t.deleted_at, t.published_version_id,
		t.reply_failures, t.reply_failure, t.reply_failing_since,
		COALESCE((SELECT pv.number FROM chat_versions pv WHERE pv.id = t.published_version_id), 0) AS published_number,
		COALESCE(c.role, 0) AS member_role, COALESCE(c.invited, FALSE) AS member_invited` + db.OwnerLeftColumn + `,
		(t.prompt_id <> '' AND COALESCE((SELECT ` + db.ReferredVersion(`t.prompt_ref`) + ` FROM prompt_templates p
			WHERE p.id = t.prompt_id AND p.deleted_at = 0), '') = '') AS prompt_gone`
	summaryColumns  = commonColumns + `, ` + promptLostColumn
	templateColumns = commonColumns + `, t.prompt_id, t.prompt_ref, t.instructions, t.configs,
		t.model_config, t.reply, t.theme, t.translations, t.transcripts, t.version_count`
	templateTables = ` FROM chat_templates t LEFT JOIN chat_members c ON c.template_id = t.id AND c.user_id = ?`
)

// groupMemberColumn selects the highest role that the caller's groups have on t. Its argument is the caller.
const groupMemberColumn = `, COALESCE((SELECT MAX(g.role) FROM group_people p
	JOIN chat_members g ON g.template_id = t.id AND g.user_id = p.group_id
	WHERE p.workspace_id = t.workspace_id AND p.user_id = ?), 0) AS group_role`

// templatesFor returns the beginning of a statement that selects columns of chat templates for a caller, and its
// arguments. first are the arguments of the columns.
func templatesFor(by identity.Actor, columns string, first ...any) (statement string, args []any) {
	if !by.Grouped {
		return `SELECT ` + columns + templateTables, append(first, by.User)
	}
	return `SELECT ` + columns + groupMemberColumn + templateTables, append(first, by.User, by.User)
}

type templateRow struct {
	summaryRow
	Prompt       prompt.ID `db:"prompt_id"`
	PromptRef    string    `db:"prompt_ref"`
	Instructions string    `db:"instructions"`
	Configs      string    `db:"configs"`
	ModelConfig  string    `db:"model_config"`
	Reply        string    `db:"reply"`
	Theme        string    `db:"theme"`
	Translations string    `db:"translations"`
	Versions     int       `db:"version_count"`

	Transcripts webhook.ID `db:"transcripts"` // of a template, and of no version
}

type summaryRow struct {
	ID            chat.ID              `db:"id"`
	Workspace     identity.WorkspaceID `db:"workspace_id"`
	Owner         identity.UserID      `db:"owner_id"`
	OwnerLeft     bool                 `db:"owner_left"`
	Name          string               `db:"name"`
	Description   string               `db:"description"`
	AvatarURL     string               `db:"avatar_url"`
	PromptGone    bool                 `db:"prompt_gone"`
	PromptLost    bool                 `db:"prompt_lost"`
	Agents        string               `db:"agents"`
	Tools         string               `db:"tools"`
	Capabilities  string               `db:"capabilities"`
	Greeting      string               `db:"greeting"`
	Starters      string               `db:"starters"`
	Metadata      string               `db:"metadata"`
	Workflows     string               `db:"workflows"`
	Status        chat.Status          `db:"status"`
	Visibility    access.Visibility    `db:"visibility"`
	Revision      int64                `db:"revision"`
	CreatedAt     int64                `db:"created_at"`
	CreatedBy     identity.UserID      `db:"created_by"`
	UpdatedAt     int64                `db:"updated_at"`
	DeletedAt     int64                `db:"deleted_at"`
	MemberRole    access.Role          `db:"member_role"`
	MemberInvited bool                 `db:"member_invited"`
	GroupRole     access.Role          `db:"group_role"`
	ReplyFailures int                  `db:"reply_failures"`
	ReplyFailure  string               `db:"reply_failure"`
	ReplyFailing  int64                `db:"reply_failing_since"`
	PublishedID   chat.VersionID       `db:"published_version_id"`
	PublishedNo   int                  `db:"published_number"`
}

// summary returns the template, with the grants of the caller only.
func (r *summaryRow) summary(by identity.Actor) (chat.Summary, error) {
	t := chat.Summary{
		Resource: access.Resource{
			Subject:   access.Subject{Workspace: r.Workspace, Owner: r.Owner, Visibility: r.Visibility},
			OwnerLeft: r.OwnerLeft, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), CreatedBy: r.CreatedBy,
			UpdatedAt: db.FromMicros(r.UpdatedAt), DeletedAt: db.FromMicros(r.DeletedAt),
		},
		ID: r.ID, Name: r.Name, Description: r.Description, AvatarURL: r.AvatarURL, Greeting: r.Greeting,
		Status: r.Status, PromptGone: r.PromptGone, PromptLost: r.PromptLost, PublishedID: r.PublishedID,
		PublishedNumber: r.PublishedNo,
		Replies: chat.ReplyRun{
			Failures: r.ReplyFailures, Code: r.ReplyFailure, FailingSince: db.FromMicros(r.ReplyFailing),
		},
	}
	if r.MemberRole != access.None && !r.MemberInvited {
		t.Grants = access.Grants{{User: by.User, Role: r.MemberRole}}
	}
	if r.GroupRole != access.None {
		t.Grants = append(t.Grants, access.Grant{User: by.User, By: access.ByGroup, Role: r.GroupRole})
	}
	if r.Metadata != "" {
		t.Metadata = json.RawMessage(r.Metadata)
	}
	var errs [5]error
	t.Agents, errs[0] = db.TextList(r.Agents)
	t.Tools, errs[1] = db.TextList(r.Tools)
	t.Capabilities, errs[2] = db.TextList(r.Capabilities)
	t.Starters, errs[3] = db.TextList(r.Starters)
	errs[4] = db.FromJSON(r.Workflows, &t.Workflows)
	return t, errors.Join(errs[:]...)
}

func (r *templateRow) template(by identity.Actor) (*chat.Template, error) {
	s, err := r.summary(by)
	if err != nil {
		return nil, err
	}
	c, err := r.content(&s)
	return &chat.Template{
		Resource: s.Resource, ID: s.ID, Status: s.Status, PromptGone: s.PromptGone, PromptLost: s.PromptLost,
		Content: c, Versions: r.Versions, Replies: s.Replies, Transcripts: r.Transcripts,
	}, err
}

// content combines the summary's names with the configurations, which are stored apart because lists do not read them.
func (r *templateRow) content(s *chat.Summary) (chat.Content, error) {
	var configs storedConfigs
	var model *prompt.ModelConfig
	var reply chat.Reply
	var translations []chat.Translation
	theme, err := db.ReadTheme(r.Theme)
	err = errors.Join(err, db.FromJSON(r.Configs, &configs), db.FromJSON(r.ModelConfig, &model), db.FromJSON(r.Reply,
		&reply), db.FromJSON(r.Translations, &translations))
	return chat.Content{
		Name: s.Name, Description: s.Description, AvatarURL: s.AvatarURL, Instructions: r.Instructions,
		Prompt: chat.Prompt{Template: r.Prompt, Ref: r.PromptRef},
		Agents: selected(s.Agents, configs.Agents), Tools: selected(s.Tools, configs.Tools),
		Capabilities: s.Capabilities, Workflows: s.Workflows, Model: model, Greeting: s.Greeting,
		Starters: s.Starters, Metadata: s.Metadata, Reply: reply, Theme: theme, Translations: translations,
	}, err
}

// contentColumns are the columns of a template's content, in the order of contentArgs.
const contentColumns = `name, description, avatar_url, instructions, prompt_id, prompt_ref, agents, tools,
	capabilities, workflows, model_config, starters, translations, reply, configs, greeting, metadata, theme`

// contentArgs returns the values of contentColumns.
func contentArgs(c *chat.Content) ([]any, error) {
	var configs storedConfigs
	var agents, tools []string
	agents, configs.Agents = unselected(c.Agents)
	tools, configs.Tools = unselected(c.Tools)
	args := []any{c.Name, c.Description, c.AvatarURL, c.Instructions, c.Prompt.Template, c.Prompt.Ref}
	for _, list := range []struct {
		value any
		empty bool
	}{
		{agents, len(agents) == 0},
		{tools, len(tools) == 0},
		{c.Capabilities, len(c.Capabilities) == 0},
		{c.Workflows, len(c.Workflows) == 0},
		{c.Model, c.Model == nil},
		{c.Starters, len(c.Starters) == 0},
		{c.Translations, len(c.Translations) == 0},
	} {
		text, err := db.JSONText(list.value, list.empty)
		if err != nil {
			return nil, err
		}
		args = append(args, text)
	}
	reply, err := replyText(c.Reply)
	if err != nil {
		return nil, err
	}
	text, err := configs.text()
	if err != nil {
		return nil, err
	}
	theme, err := db.ThemeText(c.Theme)
	return append(args, reply, text, c.Greeting, string(c.Metadata), theme), err
}

// storedConfigs are stored apart from the ids that they belong to, so that lists need not read them.
type storedConfigs struct {
	Agents []json.RawMessage `json:"agents"`
	Tools  []json.RawMessage `json:"tools"`
}

// text returns the JSON that db.FromJSON reads. Configurations stay as they were sent, except for the space between
// their tokens.
func (c storedConfigs) text() (string, error) {
	if len(c.Agents)+len(c.Tools) == 0 {
		return "", nil
	}
	return db.UnescapedJSON(c)
}

func replyText(r chat.Reply) (string, error) {
	if !r.Answers() {
		return "", nil
	}
	return db.UnescapedJSON(r)
}

func selected(ids []string, configs []json.RawMessage) []chat.Selected {
	out := make([]chat.Selected, len(ids))
	for i, id := range ids {
		out[i].ID = id
		if i < len(configs) && string(configs[i]) != "null" {
			out[i].Config = configs[i]
		}
	}
	return out
}

func unselected(list []chat.Selected) (ids []string, configs []json.RawMessage) {
	for _, s := range list {
		ids, configs = append(ids, s.ID), append(configs, s.Config)
	}
	return ids, configs
}
