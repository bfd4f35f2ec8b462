package chats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Chats stores chat templates.
type Chats struct{ db *Store }

var _ ports.Chats = (*Chats)(nil)

// A template is read together with the membership of the caller. Arguments of summaries begin with those of
// promptLostColumn.
var (
	chatCommonColumns = `t.id, t.workspace_id, t.owner_id, t.name, t.description, t.avatar_url, t.agents,
		t.tools, t.capabilities, t.greeting, t.starters, t.metadata, t.workflows, t.status, t.visibility,
		t.revision, t.created_at, t.created_by, t.updated_at, t.deleted_at, t.published_version_id,
		COALESCE((SELECT pv.number FROM chat_versions pv WHERE pv.id = t.published_version_id), 0) AS published_number,
		COALESCE(c.role, 0) AS member_role, COALESCE(c.invited, FALSE) AS member_invited` + db.OwnerLeftColumn + `,
		(t.prompt_id <> '' AND COALESCE((SELECT ` + db.ReferredVersion(`t.prompt_ref`) + ` FROM prompt_templates p
			WHERE p.id = t.prompt_id AND p.deleted_at = 0), '') = '') AS prompt_gone`
	chatSummaryColumns = chatCommonColumns + `, ` + promptLostColumn
	chatColumns        = chatCommonColumns + `, t.prompt_id, t.prompt_ref, t.instructions, t.configs,
		t.model_config, t.reply, t.theme, t.version_count`
	chatTables = ` FROM chat_templates t LEFT JOIN chat_members c ON c.template_id = t.id AND c.user_id = ?`
)

// groupMemberColumn selects the highest role that groups of a caller have on t. Its argument is the caller.
const groupMemberColumn = `, COALESCE((SELECT MAX(g.role) FROM group_people p
	JOIN chat_members g ON g.template_id = t.id AND g.user_id = p.group_id
	WHERE p.workspace_id = t.workspace_id AND p.user_id = ?), 0) AS group_role`

// chatsFor returns how a statement begins that selects columns of chat templates for a caller, and its arguments,
// of which first are those of columns.
func chatsFor(by identity.Actor, columns string, first ...any) (statement string, args []any) {
	if !by.Grouped {
		return `SELECT ` + columns + chatTables, append(first, by.User)
	}
	return `SELECT ` + columns + groupMemberColumn + chatTables, append(first, by.User, by.User)
}

type chatRow struct {
	chatSummaryRow
	Prompt       prompt.ID `db:"prompt_id"`
	PromptRef    string    `db:"prompt_ref"`
	Instructions string    `db:"instructions"`
	Configs      string    `db:"configs"`
	ModelConfig  string    `db:"model_config"`
	Reply        string    `db:"reply"`
	Theme        string    `db:"theme"`
	Versions     int       `db:"version_count"`
}

type chatSummaryRow struct {
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
	PublishedID   chat.VersionID       `db:"published_version_id"`
	PublishedNo   int                  `db:"published_number"`
}

func (r *chatSummaryRow) summary(by identity.Actor) (chat.Summary, error) {
	t := chat.Summary{
		Resource: access.Resource{
			Subject:   access.Subject{Workspace: r.Workspace, Owner: r.Owner, Visibility: r.Visibility},
			OwnerLeft: r.OwnerLeft, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), CreatedBy: r.CreatedBy,
			UpdatedAt: db.FromMicros(r.UpdatedAt), DeletedAt: db.FromMicros(r.DeletedAt),
		},
		ID: r.ID, Name: r.Name, Description: r.Description, AvatarURL: r.AvatarURL, Greeting: r.Greeting,
		Status: r.Status, PromptGone: r.PromptGone, PromptLost: r.PromptLost, PublishedID: r.PublishedID,
		PublishedNumber: r.PublishedNo,
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

func (r *chatRow) template(by identity.Actor) (*chat.Template, error) {
	s, err := r.summary(by)
	if err != nil {
		return nil, err
	}
	c, err := r.content(&s)
	return &chat.Template{
		Resource: s.Resource, ID: s.ID, Status: s.Status, Workflows: s.Workflows, PromptGone: s.PromptGone,
		PromptLost: s.PromptLost, Content: c, Versions: r.Versions,
	}, err
}

func (r *chatRow) content(s *chat.Summary) (chat.Content, error) {
	var configs chatConfigs
	var model *prompt.ModelConfig
	var reply chat.Reply
	theme, err := db.ReadTheme(r.Theme)
	err = errors.Join(err, db.FromJSON(r.Configs, &configs), db.FromJSON(r.ModelConfig, &model), db.FromJSON(r.Reply,
		&reply))
	return chat.Content{
		Name: s.Name, Description: s.Description, AvatarURL: s.AvatarURL, Instructions: r.Instructions,
		Prompt: chat.Prompt{Template: r.Prompt, Ref: r.PromptRef},
		Agents: selected(s.Agents, configs.Agents), Tools: selected(s.Tools, configs.Tools),
		Capabilities: s.Capabilities, Model: model, Greeting: s.Greeting, Starters: s.Starters,
		Metadata: s.Metadata, Reply: reply, Theme: theme,
	}, err
}

// chatContentColumns are the columns of a template's content, in the order of chatContentArgs.
const chatContentColumns = `name, description, avatar_url, instructions, prompt_id, prompt_ref, agents, tools,
	capabilities, model_config, starters, reply, configs, greeting, metadata, theme`

func chatContentArgs(c *chat.Content) ([]any, error) {
	var configs chatConfigs
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
		{c.Model, c.Model == nil},
		{c.Starters, len(c.Starters) == 0},
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

// chatArgs are the values of what may change in a template, in the order of both statements below.
func chatArgs(t *chat.Template) ([]any, error) {
	args, err := chatContentArgs(&t.Content)
	if err != nil {
		return nil, err
	}
	workflows, err := db.JSONText(t.Workflows, len(t.Workflows) == 0)
	var version chat.VersionID
	if t.Published != nil {
		version = t.Published.ID
	}
	search := strings.ToLower(t.Name + "\n" + t.Description) // SQLite's own lower handles only ASCII
	return append(args, t.Owner, workflows, t.Status, t.Visibility, search, version, t.Versions, t.Revision,
		db.Micros(t.UpdatedAt), db.Micros(t.DeletedAt)), err
}

// Add implements ports.Chats.
func (s *Chats) Add(ctx context.Context, t *chat.Template) error {
	args, err := chatArgs(t)
	if err != nil {
		return err
	}
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `
			INSERT INTO chat_templates (`+chatContentColumns+`, owner_id, workflows, status, visibility, search,
				published_version_id, version_count, revision, updated_at, deleted_at, id, workspace_id, created_at,
				created_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, t.ID, t.Workspace, db.Micros(t.CreatedAt), t.CreatedBy)...); err != nil {
			return err
		}
		if err := tx.saveChatVersions(ctx, t); err != nil {
			return err
		}
		if err := tx.saveChatReference(ctx, t); err != nil {
			return err
		}
		return tx.Record(ctx, t.RecordedAt(t.Revision, string(t.ID)))
	})
}

// Get implements ports.Chats.
func (s *Chats) Get(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return s.db.template(ctx, by, id)
}

// Update implements ports.Chats.
func (s *Chats) Update(ctx context.Context, by identity.Actor, id chat.ID,
	change func(*chat.Template) error) (*chat.Template, error) {
	return s.UpdateFor(ctx, by, id, nil, func(t *chat.Template, _ []chat.Party) error { return change(t) })
}

// UpdateFor implements ports.Chats.
func (s *Chats) UpdateFor(ctx context.Context, by identity.Actor, id chat.ID, users []identity.UserID,
	change func(*chat.Template, []chat.Party) error) (*chat.Template, error) {
	var t *chat.Template
	err := s.db.inTx(ctx, func(tx *Store) error {
		present, err := tx.MembersOf(ctx, by.Workspace, users)
		if err != nil {
			return err
		}
		if t, err = tx.lockedTemplate(ctx, by, id); err != nil {
			return err
		}
		parties := make([]chat.Party, len(users))
		for i, user := range users {
			if parties[i], err = tx.chatParty(ctx, id, user); err != nil {
				return err
			}
			parties[i].InWorkspace = present[user]
		}
		previous := *t
		if err := change(t, parties); err != nil {
			return err
		}
		if len(t.Recorded()) == 0 {
			return nil
		}
		if err := tx.saveChat(ctx, &previous, t); err != nil {
			return err
		}
		for _, m := range t.ChangedMembers {
			if err := tx.saveChatMember(ctx, t, m); err != nil {
				return err
			}
		}
		if t.Owner == previous.Owner && t.Prompt == previous.Prompt && t.Publication == nil {
			return nil
		}
		return tx.loadPromptLost(ctx, by, t)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Invited implements ports.Chats.
func (s *Chats) Invited(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) ([]chat.ID, error) {
	var found []chat.ID
	err := s.db.List(ctx, &found, `SELECT template_id FROM chat_members WHERE workspace_id = ? AND user_id = ?
		AND invited ORDER BY template_id`, ws, user)
	return found, err
}

// Waiting implements ports.Chats.
func (s *Chats) Waiting(ctx context.Context, ws identity.WorkspaceID, id chat.ID) ([]identity.UserID, error) {
	var found []identity.UserID
	err := s.db.List(ctx, &found, `SELECT user_id FROM chat_members WHERE workspace_id = ? AND template_id = ?
		AND invited ORDER BY user_id`, ws, id)
	return found, err
}

// template returns a template as the caller sees it, with its published version.
func (store *Store) template(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	var row chatRow
	begin, args := chatsFor(by, chatColumns)
	found, err := store.Get(ctx, &row, begin+` WHERE t.id = ? AND t.workspace_id = ?`, append(args, id, by.Workspace)...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.ErrNotFound
	}
	t, err := row.template(by)
	if err == nil && row.PublishedID != "" {
		t.Published, err = store.chatVersion(ctx, `v.id = ?`, row.PublishedID)
	}
	if err == nil {
		err = store.loadPromptLost(ctx, by, t)
	}
	return t, err
}

// lockedTemplate locks a template that is about to change, and reads it. PostgreSQL locks in a statement of its own:
// one that also reads would see rows of other tables as they were before it waited.
func (store *Store) lockedTemplate(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	store.DeclareChange(by.Workspace)
	if store.Dialect.Lock != "" {
		var one int
		if _, err := store.Get(ctx, &one, `SELECT 1 FROM chat_templates t WHERE t.id = ? AND t.workspace_id = ?`+
			store.Dialect.Lock, id, by.Workspace); err != nil {
			return nil, err
		}
	}
	return store.template(ctx, by, id)
}

// chatParty reads the data of a user that a template needs.
func (store *Store) chatParty(ctx context.Context, id chat.ID, user identity.UserID) (chat.Party, error) {
	p := chat.Party{User: user}
	if _, err := store.Get(ctx, &p.Members, `SELECT COUNT(*) FROM chat_members WHERE template_id = ?`, id); err != nil {
		return p, err
	}
	var row chatMemberRow
	found, err := store.Get(ctx, &row, `
		SELECT `+chatMemberColumns+` FROM chat_members c LEFT JOIN users u ON u.id = c.user_id
		WHERE c.template_id = ? AND c.user_id = ?`, id, user)
	if found {
		m := row.member()
		p.Member = &m
	}
	return p, err
}

// saveChat writes what a locked template recorded, and its values unless they are the same as before.
func (store *Store) saveChat(ctx context.Context, previous, t *chat.Template) error {
	old, err := chatArgs(previous)
	if err != nil {
		return err
	}
	args, err := chatArgs(t)
	if err != nil {
		return err
	}
	writes, err := store.EventWrites(t.RecordedAt(t.Revision, string(t.ID)))
	if err != nil {
		return err
	}
	if !slices.Equal(args, old) {
		writes = append(writes, db.Write{Query: `
			UPDATE chat_templates SET name = ?, description = ?, avatar_url = ?, instructions = ?, prompt_id = ?,
				prompt_ref = ?, agents = ?, tools = ?, capabilities = ?, model_config = ?, starters = ?, reply = ?,
				configs = ?, greeting = ?, metadata = ?, theme = ?, owner_id = ?, workflows = ?, status = ?,
				visibility = ?, search = ?, published_version_id = ?, version_count = ?, revision = ?, updated_at = ?,
				deleted_at = ?
			WHERE id = ? AND workspace_id = ?`, Args: append(args, t.ID, t.Workspace)})
	}
	if err := store.Run(ctx, writes...); err != nil {
		return err
	}
	if t.Prompt != previous.Prompt {
		if err := store.saveChatReference(ctx, t); err != nil {
			return err
		}
	}
	return store.saveChatVersions(ctx, t)
}

// saveChatReference stores what the prompt of a template names when it is set, by someone who may read it. Published
// versions refer to prompts that were set before.
func (store *Store) saveChatReference(ctx context.Context, t *chat.Template) error {
	if t.Prompt == (chat.Prompt{}) {
		return nil
	}
	return store.Run(ctx, db.ReferenceWrite(t.Workspace, t.Prompt.Reference(t.ID)))
}
