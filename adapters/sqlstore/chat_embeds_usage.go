package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// EmbedUses counts how often embed tokens are used.
type EmbedUses struct{ db *DB }

var _ ports.EmbedUses = (*EmbedUses)(nil)

// Add implements ports.EmbedUses. The token's row is locked, so that two nodes do not exceed the number of origins.
func (s *EmbedUses) Add(
	ctx context.Context, org identity.OrgID, id chat.EmbedTokenID, uses []chat.EmbedUse,
) error {
	return s.db.inTx(ctx, func(tx *DB) error {
		var one int
		found, err := tx.Get(ctx, &one, `SELECT 1 FROM chat_embed_tokens t WHERE t.id = ? AND t.org_id = ?`+
			tx.Dialect.Lock, id, org)
		if err != nil || !found {
			return err
		}
		oldest := chat.DayOf(time.Now()) - chat.EmbedUsageKept
		if _, err := tx.Exec(ctx, `DELETE FROM chat_embed_days WHERE token_id = ? AND day < ?`, id,
			oldest); err != nil {
			return err
		}
		known := map[chat.Day][]chat.Origin{}
		for _, u := range uses {
			origins, read := known[u.Day]
			if !read {
				if err := tx.List(ctx, &origins, `SELECT origin FROM chat_embed_days WHERE token_id = ? AND day = ?`,
					id, u.Day); err != nil {
					return err
				}
			}
			if !slices.Contains(origins, u.Origin) {
				if len(origins) >= chat.MaxUsageOrigins {
					u.Origin = chat.OtherOrigins
				}
				origins = append(origins, u.Origin)
			}
			known[u.Day] = origins
			if _, err := tx.Exec(ctx, `INSERT INTO chat_embed_days (token_id, day, origin, replies, sessions, refusals)
				VALUES (?, ?, ?, 0, ?, ?) ON CONFLICT (token_id, day, origin) DO UPDATE
				SET sessions = chat_embed_days.sessions + excluded.sessions,
				refusals = chat_embed_days.refusals + excluded.refusals`,
				id, u.Day, u.Origin, u.Sessions, u.Refusals); err != nil {
				return err
			}
		}
		return nil
	})
}

// List implements ports.EmbedUses.
func (s *EmbedUses) List(
	ctx context.Context, org identity.OrgID, id chat.EmbedTokenID, from, to chat.Day,
) ([]chat.EmbedUse, error) {
	var rows []struct {
		Day      chat.Day    `db:"day"`
		Origin   chat.Origin `db:"origin"`
		Sessions int64       `db:"sessions"`
		Messages int64       `db:"replies"`
		Refusals int64       `db:"refusals"`
	}
	err := s.db.List(ctx, &rows, `SELECT d.day, d.origin, d.sessions, d.replies, d.refusals FROM chat_embed_days d
		JOIN chat_embed_tokens t ON t.id = d.token_id WHERE d.token_id = ? AND t.org_id = ? AND d.day BETWEEN ? AND ?
		ORDER BY d.day DESC, d.origin`, id, org, from, to)
	uses := make([]chat.EmbedUse, len(rows))
	for i, r := range rows {
		uses[i] = chat.EmbedUse{Day: r.Day, Origin: r.Origin,
			EmbedCounts: chat.EmbedCounts{Sessions: r.Sessions, Messages: r.Messages, Refusals: r.Refusals}}
	}
	return uses, err
}
