package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const directoryGroupColumns = `t.id, t.org_id, t.name, t.external_id, t.created_at, t.updated_at`

type directoryGroupRow struct {
	ID         account.DirectoryGroupID `db:"id"`
	Org        identity.OrgID           `db:"org_id"`
	Name       string                   `db:"name"`
	ExternalID string                   `db:"external_id"`
	CreatedAt  int64                    `db:"created_at"`
	UpdatedAt  int64                    `db:"updated_at"`
}

func (r *directoryGroupRow) group() account.DirectoryGroup {
	return account.DirectoryGroup{ID: r.ID, Org: r.Org, Name: r.Name, ExternalID: r.ExternalID,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt)}
}

// directoryPage reads one page of a table into rows, and returns the number of all rows that match.
func (store *Store) directoryPage(
	ctx context.Context, rows any, table, columns, order string, conditions *db.Conditions, q account.DirectoryQuery,
) (total int, err error) {
	if _, err = store.Get(ctx, &total, `SELECT COUNT(*) FROM `+table+` t WHERE `+conditions.SQL(),
		conditions.Args()...); err != nil {
		return 0, err
	}
	return total, store.List(ctx, rows, `SELECT `+columns+` FROM `+table+` t WHERE `+conditions.SQL()+` ORDER BY `+order+
		` LIMIT ? OFFSET ?`, conditions.Args(q.Limit, q.Skip)...)
}

// markUnsettled records that people's groups have changed, so that their roles must be computed again.
func (store *Store) markUnsettled(ctx context.Context, org identity.OrgID, people []identity.UserID) error {
	for batch := range slices.Chunk(people, 500) {
		conditions := db.NewConditions(`org_id = ?`, org)
		db.OneOf(conditions, `user_id`, batch)
		if _, err := store.Exec(ctx, `UPDATE scim_users SET unsettled = unsettled + 1 WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return err
		}
	}
	return nil
}

// markAllUnsettled records that the roles of everyone in org's directory must be computed again.
func (store *Store) markAllUnsettled(ctx context.Context, org identity.OrgID) error {
	_, err := store.Exec(ctx, `UPDATE scim_users SET unsettled = unsettled + 1 WHERE org_id = ? AND removed_at = 0`, org)
	return err
}
