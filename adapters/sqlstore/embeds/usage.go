package embeds

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Uses counts how often embed tokens are used.
type Uses struct{ db *Store }

var _ ports.EmbedUses = (*Uses)(nil)

// Add implements ports.EmbedUses. The token's row is locked, so that two nodes do not exceed the number of origins.
func (s *Uses) Add(
	ctx context.Context, org identity.OrgID, id embed.TokenID, uses []embed.Use,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var one int
		found, err := tx.Get(ctx, &one, `SELECT 1 FROM chat_embed_tokens t WHERE t.id = ? AND t.org_id = ?`+
			tx.Dialect.Lock, id, org)
		if err != nil || !found {
			return err
		}
		oldest := embed.DayOf(time.Now()) - embed.UsageDays
		if _, err := tx.Exec(ctx, `DELETE FROM chat_embed_days WHERE token_id = ? AND day < ?`, id,
			oldest); err != nil {
			return err
		}
		perDay := map[embed.Day][]embed.Origin{}
		for _, u := range uses {
			origins, read := perDay[u.Day]
			if !read {
				if err := tx.List(ctx, &origins, `SELECT origin FROM chat_embed_days WHERE token_id = ? AND day = ?`,
					id, u.Day); err != nil {
					return err
				}
			}
			if !slices.Contains(origins, u.Origin) {
				if len(origins) >= embed.MaxUsageOrigins {
					u.Origin = embed.OtherOrigins
				}
				origins = append(origins, u.Origin)
			}
			perDay[u.Day] = origins
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
func (s *Uses) List(
	ctx context.Context, org identity.OrgID, id embed.TokenID, from, to embed.Day,
) ([]embed.Use, error) {
	var rows []struct {
		Day      embed.Day    `db:"day"`
		Origin   embed.Origin `db:"origin"`
		Sessions int64        `db:"sessions"`
		Messages int64        `db:"replies"`
		Refusals int64        `db:"refusals"`
	}
	err := s.db.List(ctx, &rows, `SELECT d.day, d.origin, d.sessions, d.replies, d.refusals FROM chat_embed_days d
		JOIN chat_embed_tokens t ON t.id = d.token_id WHERE d.token_id = ? AND t.org_id = ? AND d.day BETWEEN ? AND ?
		ORDER BY d.day DESC, d.origin`, id, org, from, to)
	uses := make([]embed.Use, len(rows))
	for i, r := range rows {
		uses[i] = embed.Use{Day: r.Day, Origin: r.Origin,
			Counts: embed.Counts{Sessions: r.Sessions, Messages: r.Messages, Refusals: r.Refusals}}
	}
	return uses, err
}

// AddFailures implements ports.EmbedUses.
func (s *Uses) AddFailures(
	ctx context.Context, org identity.OrgID, id embed.TokenID, failures []embed.Failure,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `DELETE FROM chat_embed_failures WHERE token_id = ? AND day < ?`, id,
			embed.DayOf(time.Now())-embed.UsageDays); err != nil {
			return err
		}
		for _, f := range failures {
			if _, err := tx.Exec(ctx, `INSERT INTO chat_embed_failures (token_id, day, code, failures)
				SELECT t.id, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM chat_embed_tokens t
				WHERE t.id = ? AND t.org_id = ? ON CONFLICT (token_id, day, code) DO UPDATE
				SET failures = chat_embed_failures.failures + excluded.failures`,
				f.Day, f.Code, f.Count, id, org); err != nil {
				return err
			}
		}
		return nil
	})
}

// Failures implements ports.EmbedUses.
func (s *Uses) Failures(
	ctx context.Context, org identity.OrgID, id embed.TokenID, from, to embed.Day,
) ([]embed.Failure, error) {
	var rows []struct {
		Day   embed.Day `db:"day"`
		Code  string    `db:"code"`
		Count int64     `db:"failures"`
	}
	err := s.db.List(ctx, &rows, `SELECT f.day, f.code, f.failures FROM chat_embed_failures f
		JOIN chat_embed_tokens t ON t.id = f.token_id WHERE f.token_id = ? AND t.org_id = ? AND f.day BETWEEN ? AND ?
		ORDER BY f.day DESC, f.code`, id, org, from, to)
	failures := make([]embed.Failure, len(rows))
	for i, r := range rows {
		failures[i] = embed.Failure(r)
	}
	return failures, err
}
