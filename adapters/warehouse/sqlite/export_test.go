package sqlite

import (
	"context"
	"database/sql"

	"github.com/atrium-hq/atrium/ports"
)

// Exec runs a statement of the test's where the generated ones run.
func (w *Warehouse) Exec(ctx context.Context, target ports.Target, statement string) error {
	return w.withFile(ctx, target, func(ctx context.Context, db *sql.Conn) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	})
}
