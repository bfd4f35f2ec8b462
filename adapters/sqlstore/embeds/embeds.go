package embeds

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Embeds stores the embed tokens of chat templates.
type Embeds struct{ db *Store }

var _ ports.Embeds = (*Embeds)(nil)

var tokenColumns = []string{"id", "org_id", "workspace_id", "template_id", "name", "origins", "allow_no_origin",
	"enabled", "expires_at",
	"session_seconds", "per_minute", "hash", "hint", "previous_hash", "previous_until", "last_used_at",
	"last_used_origin", "created_by", "revision", "created_at", "updated_at", "generation", "replies_per_day", "theme",
	"require_signed", "last_signed_at"}

type tokenRow struct {
	ID             embed.TokenID        `db:"id"`
	Org            identity.OrgID       `db:"org_id"`
	Workspace      identity.WorkspaceID `db:"workspace_id"`
	Template       chat.ID              `db:"template_id"`
	Name           string               `db:"name"`
	Origins        string               `db:"origins"`
	AllowNoOrigin  bool                 `db:"allow_no_origin"`
	Enabled        bool                 `db:"enabled"`
	ExpiresAt      int64                `db:"expires_at"`
	SessionSeconds int64                `db:"session_seconds"`
	PerMinute      int                  `db:"per_minute"`
	Hash           []byte               `db:"hash"`
	Hint           string               `db:"hint"`
	PreviousHash   []byte               `db:"previous_hash"`
	PreviousUntil  int64                `db:"previous_until"`
	LastUsedAt     int64                `db:"last_used_at"`
	LastUsedOrigin embed.Origin         `db:"last_used_origin"`
	CreatedBy      identity.UserID      `db:"created_by"`
	Revision       int64                `db:"revision"`
	CreatedAt      int64                `db:"created_at"`
	UpdatedAt      int64                `db:"updated_at"`
	Generation     int64                `db:"generation"`
	RepliesPerDay  int                  `db:"replies_per_day"`
	Theme          string               `db:"theme"`
	RequireSigned  bool                 `db:"require_signed"`
	LastSignedAt   int64                `db:"last_signed_at"`
}

func (r *tokenRow) token() (embed.Token, error) {
	t := embed.Token{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Template: r.Template,
		Settings: embed.Settings{
			Name: r.Name, AllowNoOrigin: r.AllowNoOrigin, Enabled: r.Enabled, ExpiresAt: db.FromMicros(r.ExpiresAt),
			SessionTTL: time.Duration(r.SessionSeconds) * time.Second, PerMinute: r.PerMinute,
			RepliesPerDay: r.RepliesPerDay, RequireSigned: r.RequireSigned,
		},
		Hint: r.Hint, PreviousUntil: db.FromMicros(r.PreviousUntil), LastUsedAt: db.FromMicros(r.LastUsedAt),
		LastUsedOrigin: r.LastUsedOrigin, LastSignedAt: db.FromMicros(r.LastSignedAt), Generation: r.Generation,
		CreatedBy: r.CreatedBy, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt),
		UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
	copy(t.Hash[:], r.Hash)
	copy(t.Previous[:], r.PreviousHash)
	var err error
	t.Theme, err = db.ReadTheme(r.Theme)
	return t, errors.Join(err, db.FromJSON(r.Origins, &t.Origins))
}

var tokenQuery = `SELECT ` + db.ColumnsLike(`t.%`, tokenColumns) + ` FROM chat_embed_tokens t WHERE `

// List implements ports.Embeds.
func (s *Embeds) List(
	ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query,
) (embed.TokenPage, error) {
	conditions := db.NewConditions(`t.template_id = ? AND t.workspace_id = ?`, template, ws)
	conditions.When(q.After != "", `t.id < ?`, q.After)
	var rows []tokenRow
	if err := s.db.List(ctx, &rows, tokenQuery+conditions.SQL()+` ORDER BY t.id DESC LIMIT ?`,
		conditions.Args(q.Limit+1)...); err != nil {
		return embed.TokenPage{}, err
	}
	tokens, err := db.TryConvert(rows, (*tokenRow).token)
	return page.Cut(tokens, q.Limit, func(t embed.Token) string { return string(t.ID) }), err
}

// Get implements ports.Embeds.
func (s *Embeds) Get(
	ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
) (*chat.Template, *embed.Token, error) {
	return s.db.token(ctx, by, template, id, s.db.templates.Read)
}

// token returns a template and its token, or nil for a token that does not exist. read returns the template, and may
// lock it.
func (store *Store) token(ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
	read func(context.Context, *db.DB, identity.Actor, chat.ID) (*chat.Template, error)) (*chat.Template,
	*embed.Token, error) {
	t, err := read(ctx, store.DB, by, template)
	if err != nil {
		return nil, nil, err
	}
	var row tokenRow
	found, err := store.Get(ctx, &row, tokenQuery+`t.id = ? AND t.template_id = ? AND t.workspace_id = ?`, id, template,
		by.Workspace)
	if err != nil || !found {
		return t, nil, err
	}
	token, err := row.token()
	return t, &token, err
}

// Add implements ports.Embeds.
func (s *Embeds) Add(ctx context.Context, by identity.Actor, template chat.ID,
	change func(*chat.Template, int) (*embed.Token, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		t, err := tx.templates.Locked(ctx, tx.DB, by, template)
		if err != nil {
			return err
		}
		var count int
		if _, err := tx.Get(ctx, &count, `SELECT COUNT(*) FROM chat_embed_tokens WHERE template_id = ?`,
			template); err != nil {
			return err
		}
		token, err := change(t, count)
		if err != nil {
			return err
		}
		return tx.addToken(ctx, token)
	})
}

// addToken writes a new token, and the origins by which it is found.
func (store *Store) addToken(ctx context.Context, t *embed.Token) error {
	origins, err := db.JSONText(t.Origins, false)
	if err != nil {
		return err
	}
	theme, err := db.ThemeText(t.Theme)
	if err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `INSERT INTO chat_embed_tokens (`+db.ColumnsLike(`%`, tokenColumns)+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
		t.ID, t.Org, t.Workspace, t.Template, t.Name, origins, t.AllowNoOrigin, t.Enabled, db.Micros(t.ExpiresAt),
		int64(t.SessionTTL/time.Second), t.PerMinute, t.Hash[:], t.Hint, t.Previous[:], t.CreatedBy, t.Revision,
		db.Micros(t.CreatedAt), db.Micros(t.UpdatedAt), t.Generation, t.RepliesPerDay, theme,
		t.RequireSigned); err != nil {
		return err
	}
	if err := store.addOrigins(ctx, t); err != nil {
		return err
	}
	return store.Record(ctx, t.RecordedAt(t.Revision, string(t.ID)))
}

func (store *Store) addOrigins(ctx context.Context, t *embed.Token) error {
	for _, pattern := range t.KnownPatterns() {
		if _, err := store.Exec(ctx, `INSERT INTO chat_embed_origins (org_id, pattern, token_id) VALUES (?, ?, ?)`, t.Org,
			pattern, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// Update implements ports.Embeds.
func (s *Embeds) Update(ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
	change func(*chat.Template, *embed.Token) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		t, token, err := tx.token(ctx, by, template, id, tx.templates.Locked)
		if err != nil {
			return err
		}
		var previous embed.Token
		if token != nil {
			previous = *token
		}
		if err := change(t, token); err != nil {
			return err
		}
		if token == nil || len(token.Recorded()) == 0 {
			return nil
		}
		if token.Deleted || token.Hash != previous.Hash {
			if err := tx.EraseAnswers(ctx, token.Org, string(token.ID)); err != nil {
				return err
			}
		}
		return tx.saveToken(ctx, &previous, token)
	})
}

// saveToken writes a changed token, or removes a deleted one. Its origins are written only if they changed.
func (store *Store) saveToken(ctx context.Context, previous, t *embed.Token) error {
	if t.Deleted {
		if _, err := store.Exec(ctx, `DELETE FROM chat_embed_tokens WHERE id = ? AND workspace_id = ?`, t.ID,
			t.Workspace); err != nil {
			return err
		}
		return store.Record(ctx, t.RecordedAt(t.Revision, string(t.ID)))
	}
	origins, err := db.JSONText(t.Origins, false)
	if err != nil {
		return err
	}
	theme, err := db.ThemeText(t.Theme)
	if err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `
		UPDATE chat_embed_tokens SET name = ?, origins = ?, allow_no_origin = ?, enabled = ?, expires_at = ?,
		session_seconds = ?, per_minute = ?,
			hash = ?, hint = ?, previous_hash = ?, previous_until = ?, revision = ?, updated_at = ?, generation = ?,
			replies_per_day = ?, theme = ?, require_signed = ?
			WHERE id = ? AND workspace_id = ?`,
		t.Name, origins, t.AllowNoOrigin, t.Enabled, db.Micros(t.ExpiresAt), int64(t.SessionTTL/time.Second),
		t.PerMinute,
		t.Hash[:], t.Hint, t.Previous[:], db.Micros(t.PreviousUntil), t.Revision, db.Micros(t.UpdatedAt),
		t.Generation, t.RepliesPerDay, theme, t.RequireSigned, t.ID, t.Workspace); err != nil {
		return err
	}
	if !slices.Equal(previous.KnownPatterns(), t.KnownPatterns()) {
		if _, err := store.Exec(ctx, `DELETE FROM chat_embed_origins WHERE org_id = ? AND token_id = ?`, t.Org,
			t.ID); err != nil {
			return err
		}
		if err := store.addOrigins(ctx, t); err != nil {
			return err
		}
	}
	return store.Record(ctx, t.RecordedAt(t.Revision, string(t.ID)))
}
