package embeds

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// servedColumns are the columns of the published version, or of the template without one.
var servedColumns = []string{"name", "avatar_url", "greeting", "starters", "translations", "tools", "reply", "theme"}

// embeddingQuery reads everything that a visitor's request needs. Its result is not cached: when a token is revoked,
// its sessions must stop at the next request, on every node.
var embeddingQuery = `SELECT ` + db.ColumnsLike(`t.% AS "t.%"`, tokenColumns) + `,
	c.status, c.transcripts, ` + db.ColumnsLike(`COALESCE(v.%, c.%) AS %`, servedColumns) + `
	FROM chat_embed_tokens t JOIN chat_templates c ON c.id = t.template_id JOIN workspaces w ON w.id = t.workspace_id
	LEFT JOIN chat_versions v ON v.id = c.published_version_id
	WHERE c.deleted_at = 0 AND w.deleted_at = 0 AND t.org_id = ? AND `

type embeddingRow struct {
	Token     tokenRow    `db:"t"`
	Status    chat.Status `db:"status"`
	Name      string      `db:"name"`
	AvatarURL string      `db:"avatar_url"`
	Greeting  string      `db:"greeting"`
	Starters  string      `db:"starters"`
	Languages string      `db:"translations"`
	Tools     string      `db:"tools"`
	Reply     string      `db:"reply"`
	Theme     string      `db:"theme"`

	Transcripts webhook.ID `db:"transcripts"`
}

// embedding returns the token with its template. The template's theme has the token's colors where the token sets them.
func (row *embeddingRow) embedding() (*embed.Embedding, error) {
	e := &embed.Embedding{Template: embed.Template{
		ID: row.Token.Template, Workspace: row.Token.Workspace, Status: row.Status,
		Name: row.Name, AvatarURL: row.AvatarURL, Greeting: row.Greeting,
		Forwarded: row.Transcripts != "",
	}}
	var err error
	if e.Token, err = row.Token.token(); err != nil {
		return nil, err
	}
	theme, err := db.ReadTheme(row.Theme)
	if err != nil {
		return nil, err
	}
	e.Template.Theme = e.Token.Theme.WithDefaults(theme)
	return e, errors.Join(db.FromJSON(row.Tools, &e.Template.Tools), db.FromJSON(row.Reply, &e.Template.Reply),
		db.FromJSON(row.Starters, &e.Template.Starters), db.FromJSON(row.Languages, &e.Template.Languages))
}

func (store *Store) embedding(ctx context.Context, condition string, args ...any) (*embed.Embedding, error) {
	var row embeddingRow
	found, err := store.Get(ctx, &row, embeddingQuery+condition, args...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, embed.ErrTokenInvalid
	}
	return row.embedding()
}

// BySecret implements ports.Embeds. It first looks for the current secret, which nearly every call has: one OR
// over both secrets would make both engines read two indexes each time.
func (s *Embeds) BySecret(ctx context.Context, org identity.OrgID, h secret.Hash) (*embed.Embedding, error) {
	e, err := s.db.embedding(ctx, `t.hash = ?`, org, h[:])
	if err == embed.ErrTokenInvalid { //nolint:errorlint // it is the one that embedding returns
		e, err = s.db.embedding(ctx, `t.previous_hash = ? AND t.previous_until <> 0`, org, h[:])
	}
	return e, err
}

// ByIDs implements ports.Embeds. A node has at most some thousand visitors at a time.
func (s *Embeds) ByIDs(
	ctx context.Context, org identity.OrgID, ids []embed.TokenID,
) (map[embed.TokenID]*embed.Embedding, error) {
	found := map[embed.TokenID]*embed.Embedding{}
	if len(ids) == 0 {
		return found, nil
	}
	conditions := &db.Conditions{Values: []any{org}}
	db.OneOf(conditions, `t.id`, ids)
	var rows []embeddingRow
	if err := s.db.List(ctx, &rows, embeddingQuery+conditions.SQL(), conditions.Args()...); err != nil {
		return nil, err
	}
	for i := range rows {
		e, err := rows[i].embedding()
		if err != nil {
			return nil, err
		}
		found[e.Token.ID] = e
	}
	return found, nil
}

// Expected implements ports.Embeds.
func (s *Embeds) Expected(ctx context.Context, org identity.OrgID, origin embed.Origin) (bool, error) {
	patterns := origin.Patterns()
	if origin == embed.OpaqueOrigin {
		patterns = []embed.OriginPattern{embed.OriginPattern(origin)}
	}
	for _, pattern := range patterns {
		var id embed.TokenID
		found, err := s.db.Get(ctx, &id, `
			SELECT t.id FROM chat_embed_origins o JOIN chat_embed_tokens t ON t.id = o.token_id
			JOIN chat_templates c ON c.id = t.template_id JOIN workspaces w ON w.id = t.workspace_id
			WHERE o.org_id = ? AND o.pattern = ? AND c.deleted_at = 0 AND w.deleted_at = 0
			LIMIT 1`, org, pattern)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// Used implements ports.Embeds.
func (s *Embeds) Used(ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin,
	isSigned bool, now time.Time) error {
	var signedAt, outdatedSince int64 // 0 changes nothing
	if isSigned {
		signedAt, outdatedSince = db.Micros(now), db.Micros(now.Add(-time.Hour))
	}
	_, err := s.db.Exec(ctx, `UPDATE chat_embed_tokens SET last_used_at = ?, last_used_origin = ?,
			last_signed_at = CASE WHEN last_signed_at < ? THEN ? ELSE last_signed_at END
		WHERE id = ? AND org_id = ? AND (last_used_at < ? OR last_signed_at < ?)`,
		db.Micros(now), origin, signedAt, signedAt, id, org, db.Micros(now.Add(-time.Minute)), outdatedSince)
	return err
}

// Replies counts the replies of embed tokens.
type Replies struct{ db *Store }

var _ ports.EmbedReplies = (*Replies)(nil)

// keptDays is the number of days for which a token's replies are counted.
const keptDays = 90

// Count implements ports.EmbedReplies. The token's row is locked, so that calls for different origins wait for each
// other.
func (s *Replies) Count(
	ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin, day embed.Day, n, limit int,
) (total int, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		var one, today int
		total = 0
		found, err := tx.Get(ctx, &one, `SELECT 1 FROM chat_embed_tokens t WHERE t.id = ? AND t.org_id = ?`+
			tx.Dialect.Lock, id, org)
		if err != nil || !found {
			return err
		}
		if _, err := tx.Get(ctx, &today, `SELECT CAST(COALESCE(SUM(replies), 0) AS BIGINT) FROM chat_embed_days
			WHERE token_id = ? AND day = ?`, id, day); err != nil || today >= limit {
			return err
		}
		if today == 0 {
			if _, err := tx.Exec(ctx, `DELETE FROM chat_embed_days WHERE token_id = ? AND day < ?`, id,
				day-keptDays); err != nil {
				return err
			}
		}
		total = min(n, limit-today)
		_, err = tx.Exec(ctx, `INSERT INTO chat_embed_days (token_id, day, origin, replies) VALUES (?, ?, ?, ?)
			ON CONFLICT (token_id, day, origin) DO UPDATE SET replies = chat_embed_days.replies + excluded.replies`,
			id, day, origin, total)
		return err
	})
	return total, err
}

// Return implements ports.EmbedReplies.
func (s *Replies) Return(
	ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin, day embed.Day, n int,
) error {
	_, err := s.db.Exec(ctx, `UPDATE chat_embed_days SET replies = replies - ? WHERE token_id = ? AND day = ?
		AND origin = ? AND replies >= ? AND EXISTS (SELECT 1 FROM chat_embed_tokens t WHERE t.id = token_id
		AND t.org_id = ?)`, n, id, day, origin, n, org)
	return err
}
