package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// embeddingQuery reads everything that a visitor's request needs. Its result is not cached: a token that ends
// must end its sessions at the next request, on every node.
var embeddingQuery = `SELECT ` + columns(`t.% AS "t.%"`, embedColumns) + `,
	c.status, c.name, c.avatar_url, c.greeting, c.starters, c.tools
	FROM chat_embed_tokens t JOIN chat_templates c ON c.id = t.template_id JOIN workspaces w ON w.id = t.workspace_id
	WHERE c.deleted_at = 0 AND w.deleted_at = 0 AND t.org_id = ? AND `

func (db *DB) embedding(ctx context.Context, where string, args ...any) (*chat.Embedding, error) {
	var row struct {
		Token     embedRow    `db:"t"`
		Status    chat.Status `db:"status"`
		Name      string      `db:"name"`
		AvatarURL string      `db:"avatar_url"`
		Greeting  string      `db:"greeting"`
		Starters  string      `db:"starters"`
		Tools     string      `db:"tools"`
	}
	found, err := db.get(ctx, &row, embeddingQuery+where, args...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.ErrEmbedTokenInvalid
	}
	e := &chat.Embedding{Template: chat.Embedded{
		ID: row.Token.Template, Workspace: row.Token.Workspace, Status: row.Status,
		Name: row.Name, AvatarURL: row.AvatarURL, Greeting: row.Greeting,
	}}
	if e.Token, err = row.Token.token(); err != nil {
		return nil, err
	}
	if err := fromJSON(row.Tools, &e.Template.Tools); err != nil {
		return nil, err
	}
	return e, fromJSON(row.Starters, &e.Template.Starters)
}

// BySecret implements ports.Embeds. It first looks for the current secret, which nearly every call has: one OR
// over both secrets would make both engines read two indexes each time.
func (s *Embeds) BySecret(ctx context.Context, org identity.OrgID, h secret.Hash) (*chat.Embedding, error) {
	e, err := s.db.embedding(ctx, `t.hash = ?`, org, h[:])
	if err == chat.ErrEmbedTokenInvalid { //nolint:errorlint // it is the one that embedding returns
		e, err = s.db.embedding(ctx, `t.previous_hash = ? AND t.previous_until <> 0`, org, h[:])
	}
	return e, err
}

// ByID implements ports.Embeds.
func (s *Embeds) ByID(ctx context.Context, org identity.OrgID, id chat.EmbedTokenID) (*chat.Embedding, error) {
	return s.db.embedding(ctx, `t.id = ?`, org, id)
}

// Expected implements ports.Embeds.
func (s *Embeds) Expected(ctx context.Context, org identity.OrgID, origin chat.Origin) (bool, error) {
	patterns := origin.Patterns()
	if origin == chat.OpaqueOrigin {
		patterns = []chat.OriginPattern{chat.OriginPattern(origin)}
	}
	for _, pattern := range patterns {
		var id chat.EmbedTokenID
		found, err := s.db.get(ctx, &id, `
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
func (s *Embeds) Used(ctx context.Context, org identity.OrgID, id chat.EmbedTokenID, origin chat.Origin,
	at time.Time) error {
	_, err := s.db.exec(ctx, `UPDATE chat_embed_tokens SET last_used_at = ?, last_used_origin = ? WHERE id = ?
		AND org_id = ? AND last_used_at < ?`,
		micros(at), origin, id, org, micros(at.Add(-time.Minute)))
	return err
}
