package sqlstore

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
)

// createSchema gives an empty SQLite database the schema that the first migrations would build step by step, and notes
// them as applied. It does nothing to a database that has tables. ADR 114 has the times.
func (db *DB) createSchema(ctx context.Context) error {
	if db.dialect.Name != engine.SQLite.Name {
		return nil
	}
	var tables int
	if err := db.writer.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
		return err
	}
	return db.transact(ctx, func(tx *sqlx.Tx) error { // it has the lock of SQLite: no other process can be creating it
		if err := tx.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
			return err
		}
		_, err := tx.ExecContext(ctx, migrations.SQLiteSchema)
		return err
	})
}
