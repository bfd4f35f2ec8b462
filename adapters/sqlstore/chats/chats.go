package chats

import (
	"context"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Chats stores chat templates.
type Chats struct{ db *Store }

var _ ports.Chats = (*Chats)(nil)

// templateArgs returns the values of the columns that may change, in the order of the statements of Add and
// saveTemplate.
func templateArgs(t *chat.Template) ([]any, error) {
	args, err := contentArgs(&t.Content)
	if err != nil {
		return nil, err
	}
	var version chat.VersionID
	if t.Published != nil {
		version = t.Published.ID
	}
	search := strings.ToLower(t.Name + "\n" + t.Description) // SQLite's own lower handles only ASCII
	return append(args, t.Owner, t.Status, t.Visibility, search, version, t.Versions, t.Revision,
		db.Micros(t.UpdatedAt), db.Micros(t.DeletedAt), t.Replies.Failures, t.Replies.Code,
		db.Micros(t.Replies.FailingSince), t.Transcripts), nil
}

// Add implements ports.Chats.
func (s *Chats) Add(ctx context.Context, t *chat.Template) error {
	args, err := templateArgs(t)
	if err != nil {
		return err
	}
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `
			INSERT INTO chat_templates (`+contentColumns+`, owner_id, status, visibility, search,
				published_version_id, version_count, revision, updated_at, deleted_at, reply_failures,
				reply_failure, reply_failing_since, transcripts, id, workspace_id, created_at, created_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, t.ID, t.Workspace, db.Micros(t.CreatedAt), t.CreatedBy)...); err != nil {
			return err
		}
		if err := tx.saveVersions(ctx, t); err != nil {
			return err
		}
		if err := tx.saveReference(ctx, t); err != nil {
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
			if parties[i], err = tx.party(ctx, id, user); err != nil {
				return err
			}
			parties[i].InWorkspace = present[user]
		}
		previous := *t
		if err := change(t, parties); err != nil {
			return err
		}
		if len(t.Recorded()) == 0 && t.Replies == previous.Replies { // failures are counted without an event
			return nil
		}
		if err := tx.saveTemplate(ctx, &previous, t); err != nil {
			return err
		}
		for _, m := range t.ChangedMembers {
			if err := tx.saveMember(ctx, t, m); err != nil {
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
	var row templateRow
	begin, args := templatesFor(by, templateColumns)
	found, err := store.Get(ctx, &row, begin+` WHERE t.id = ? AND t.workspace_id = ?`, append(args, id, by.Workspace)...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.ErrNotFound
	}
	t, err := row.template(by)
	if err == nil && row.PublishedID != "" {
		t.Published, err = store.version(ctx, row.PublishedID)
	}
	if err == nil {
		err = store.loadPromptLost(ctx, by, t)
	}
	return t, err
}

// lockedTemplate locks a template that is about to change, and reads it. PostgreSQL locks in a separate statement: one
// that also reads would see rows of other tables as they were before it waited.
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

// party reads a user's membership in a template, and the number of all members.
func (store *Store) party(ctx context.Context, id chat.ID, user identity.UserID) (chat.Party, error) {
	p := chat.Party{User: user}
	if _, err := store.Get(ctx, &p.Members, `SELECT COUNT(*) FROM chat_members WHERE template_id = ?`, id); err != nil {
		return p, err
	}
	var row memberRow
	found, err := store.Get(ctx, &row, `
		SELECT `+memberColumns+` FROM chat_members c LEFT JOIN users u ON u.id = c.user_id
		WHERE c.template_id = ? AND c.user_id = ?`, id, user)
	if found {
		m := row.member()
		p.Member = &m
	}
	return p, err
}

// saveTemplate writes the events that a locked template recorded, and its values if they changed.
func (store *Store) saveTemplate(ctx context.Context, previous, t *chat.Template) error {
	old, err := templateArgs(previous)
	if err != nil {
		return err
	}
	args, err := templateArgs(t)
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
				prompt_ref = ?, agents = ?, tools = ?, capabilities = ?, workflows = ?, model_config = ?, starters = ?,
				translations = ?,
				reply = ?, configs = ?, greeting = ?, metadata = ?, theme = ?, owner_id = ?, status = ?,
				visibility = ?, search = ?, published_version_id = ?, version_count = ?, revision = ?, updated_at = ?,
				deleted_at = ?, reply_failures = ?, reply_failure = ?, reply_failing_since = ?,
				transcripts = ?
			WHERE id = ? AND workspace_id = ?`, Args: append(args, t.ID, t.Workspace)})
	}
	if err := store.Run(ctx, writes...); err != nil {
		return err
	}
	if t.Prompt != previous.Prompt {
		if err := store.saveReference(ctx, t); err != nil {
			return err
		}
	}
	return store.saveVersions(ctx, t)
}

// saveReference stores which version a template's prompt names when it is set, by someone who may read it. Published
// versions refer to prompts that were set before.
func (store *Store) saveReference(ctx context.Context, t *chat.Template) error {
	if t.Prompt == (chat.Prompt{}) {
		return nil
	}
	return store.Run(ctx, db.ReferenceWrite(t.Workspace, t.Prompt.Reference(t.ID)))
}
