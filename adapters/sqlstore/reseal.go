package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
)

// Reseal seals what all areas store sealed again, in small steps.
func (store *Store) Reseal(ctx context.Context, r *db.Resealing) error {
	if err := store.ResealFingerprintKey(ctx, r); err != nil {
		return err
	}
	for _, area := range areas {
		if area.Reseal == nil {
			continue
		}
		if err := area.Reseal(ctx, store.DB, r); err != nil {
			return err
		}
	}
	return nil
}
