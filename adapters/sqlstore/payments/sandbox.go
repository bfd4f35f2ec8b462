package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// SandboxObjects stores the objects of the simulated gateway, one row each. The row without an identifier is the
// customer's lock.
type SandboxObjects struct{ db *Store }

var _ ports.SandboxObjects = (*SandboxObjects)(nil)

// NewSandboxObjects returns the objects in a database.
func NewSandboxObjects(d *db.DB) *SandboxObjects { return &SandboxObjects{NewStore(d)} }

// Read implements ports.SandboxObjects.
func (s *SandboxObjects) Read(
	ctx context.Context, org identity.OrgID, customer string,
) ([]ports.SandboxObject, error) {
	return s.db.sandboxObjects(ctx, org, customer)
}

func (s *Store) sandboxObjects(
	ctx context.Context, org identity.OrgID, customer string,
) ([]ports.SandboxObject, error) {
	var rows []struct {
		ID   string `db:"id"`
		Body string `db:"body"`
	}
	err := s.List(ctx, &rows, `SELECT id, body FROM sandbox_objects WHERE org_id = ? AND customer = ? AND id <> ''
		ORDER BY id`, org, customer)
	all := make([]ports.SandboxObject, len(rows))
	for i, row := range rows {
		all[i] = ports.SandboxObject{ID: row.ID, Body: []byte(row.Body)}
	}
	return all, err
}

// errUnchanged rolls back the lock of a customer that has no objects.
var errUnchanged = errors.New("nothing has changed")

// Change implements ports.SandboxObjects.
func (s *SandboxObjects) Change(ctx context.Context, org identity.OrgID, customer string,
	change func(all []ports.SandboxObject) ([]ports.SandboxObject, error)) error {
	err := s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `INSERT INTO sandbox_objects (org_id, customer, id, body) VALUES (?, ?, '', '')
			ON CONFLICT (org_id, customer, id) DO NOTHING`, org, customer); err != nil {
			return err
		}
		var locked string
		if _, err := tx.Get(ctx, &locked, `SELECT t.id FROM sandbox_objects t WHERE t.org_id = ? AND t.customer = ?
			AND t.id = ''`+tx.Dialect.Lock, org, customer); err != nil {
			return err
		}
		all, err := tx.sandboxObjects(ctx, org, customer)
		if err != nil {
			return err
		}
		changed, err := change(all)
		if err == nil && len(changed) == 0 {
			err = errUnchanged
		}
		if err != nil {
			return err
		}
		tx.DeclareWideChange() // the clock can move, for any workspace
		for _, o := range changed {
			if o.Body == nil {
				_, err = tx.Exec(ctx, `DELETE FROM sandbox_objects WHERE org_id = ? AND customer = ? AND id = ?`,
					org, customer, o.ID)
			} else {
				_, err = tx.Exec(ctx, `INSERT INTO sandbox_objects (org_id, customer, id, body) VALUES (?, ?, ?, ?)
					ON CONFLICT (org_id, customer, id) DO UPDATE SET body = excluded.body`,
					org, customer, o.ID, string(o.Body))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// Customers implements ports.SandboxObjects.
func (s *SandboxObjects) Customers(
	ctx context.Context, org identity.OrgID, cursor string, n int,
) ([]string, error) {
	var ids []string
	err := s.db.List(ctx, &ids, `SELECT customer FROM sandbox_objects WHERE org_id = ? AND customer > ? AND id = ''
		ORDER BY customer LIMIT ?`, org, cursor, n)
	return ids, err
}
