package accounts

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
)

// wordsAtOnce is the number of people whose words IndexPeople writes in one transaction.
const wordsAtOnce = 500

// saveWords replaces the words by which a person is found, in the transaction that writes the user with its
// words_revision. Words that stay are not written again.
func (store *Store) saveWords(ctx context.Context, u *account.User) error {
	if u.Service {
		return nil
	}
	words := account.SearchWords(u.Name, u.Email)
	if len(words) == 0 {
		_, err := store.Exec(ctx, `DELETE FROM people_words WHERE user_id = ?`, u.ID)
		return err
	}
	stay, rows := []any{u.ID}, make([]any, 0, 3*len(words))
	for _, word := range words {
		stay, rows = append(stay, word), append(rows, u.Org, word, u.ID)
	}
	if _, err := store.Exec(ctx, `DELETE FROM people_words WHERE user_id = ? AND word NOT IN (`+
		db.Placeholders(len(words))+`)`, stay...); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `INSERT INTO people_words (org_id, word, user_id) VALUES (?, ?, ?)`+
		strings.Repeat(`, (?, ?, ?)`, len(words)-1)+` ON CONFLICT DO NOTHING`, rows...)
	return err
}

// IndexPeople writes the search words of at most limit people that a release without search words has written.
func (store *Store) IndexPeople(ctx context.Context, limit int) error {
	for limit > 0 {
		var rows []userRow
		err := store.inTx(ctx, func(tx *Store) error {
			rows = nil
			if err := tx.List(ctx, &rows, `SELECT `+userColumns+` FROM users t
				WHERE t.words_revision <> t.revision AND NOT t.service ORDER BY t.id LIMIT ?`+tx.Dialect.Lock,
				min(limit, wordsAtOnce)); err != nil {
				return err
			}
			for i := range rows {
				u := rows[i].user()
				if err := tx.saveWords(ctx, &u); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, `UPDATE users SET words_revision = revision WHERE org_id = ? AND id = ?`,
					u.Org, u.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		limit -= len(rows)
	}
	return nil
}
