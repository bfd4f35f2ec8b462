package payments

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// SandboxAccounts stores the state of the sandbox gateway.
type SandboxAccounts struct{ db *Store }

var _ ports.SandboxAccounts = (*SandboxAccounts)(nil)

// NewSandboxAccounts returns the accounts in a database.
func NewSandboxAccounts(d *db.DB) *SandboxAccounts { return &SandboxAccounts{NewStore(d)} }

// Read implements ports.SandboxAccounts.
func (s *SandboxAccounts) Read(ctx context.Context, org identity.OrgID, id string) ([]byte, error) {
	var book string
	_, err := s.db.Get(ctx, &book, `SELECT book FROM sandbox_books WHERE org_id = ? AND id = ?`, org, id)
	return orNil(book), err
}

// Write implements ports.SandboxAccounts. It first inserts a missing row, so that it can lock it.
func (s *SandboxAccounts) Write(ctx context.Context, org identity.OrgID, id string,
	change func([]byte) ([]byte, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `INSERT INTO sandbox_books (org_id, id, book) VALUES (?, ?, '')
			ON CONFLICT (org_id, id) DO NOTHING`, org, id); err != nil {
			return err
		}
		var book string
		if _, err := tx.Get(ctx, &book, `SELECT t.book FROM sandbox_books t WHERE t.org_id = ? AND t.id = ?`+
			tx.Dialect.Lock, org, id); err != nil {
			return err
		}
		updated, err := change(orNil(book))
		if err != nil {
			return err
		}
		tx.DeclareWideChange() // the sandbox's clock can move, for any workspace
		switch {
		case updated != nil:
			_, err = tx.Exec(ctx, `UPDATE sandbox_books SET book = ? WHERE org_id = ? AND id = ?`,
				string(updated), org, id)
		case book == "":
			_, err = tx.Exec(ctx, `DELETE FROM sandbox_books WHERE org_id = ? AND id = ?`, org, id)
		}
		return err
	})
}

func orNil(book string) []byte {
	if book == "" {
		return nil
	}
	return []byte(book)
}

// List implements ports.SandboxAccounts.
func (s *SandboxAccounts) List(ctx context.Context, org identity.OrgID, cursor string, n int) ([]string, error) {
	var ids []string
	err := s.db.List(ctx, &ids, `SELECT id FROM sandbox_books WHERE org_id = ? AND id > ? ORDER BY id LIMIT ?`,
		org, cursor, n)
	return ids, err
}
