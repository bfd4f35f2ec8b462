package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Reseal seals stored credentials under the primary key. It reports its progress after each batch.
func (c *Core) Reseal(ctx context.Context, progress func(db.Resealed)) error {
	return c.DB.Reseal(ctx, &db.Resealing{
		Rewrap: c.External.Envelope.Rewrap, Bind: c.External.rebind, Progress: progress,
	})
}

// resealQuietly seals stored credentials under the primary key. A server does so at its start and after each reload.
func resealQuietly(ctx context.Context, app *Core, log *slog.Logger) {
	var result db.Resealed
	err := app.Reseal(ctx, func(r db.Resealed) { result = r })
	switch {
	case err != nil && ctx.Err() == nil:
		log.Warn("credentials were not sealed under the primary key", "error", err)
	case result.Changed > 0 || result.Unopened > 0:
		log.Info("credentials were sealed under the primary key", "changed", result.Changed, "unopened",
			result.Unopened,
			"of", result.Credentials)
	}
}

// resealAtStart calls resealQuietly at once, since the keyring may have been rotated while no server ran, and again
// when derived keys begin to seal.
func resealAtStart(ctx context.Context, app *Core, log *slog.Logger) {
	resealQuietly(ctx, app, log)
	wait := app.Keyring.DerivesIn()
	if wait <= 0 {
		return
	}
	log.Info("until keys are derived, nodes of v0.1.0 can run beside this one; stop them before", "at",
		time.Now().Add(wait).UTC().Format(time.RFC3339))
	select {
	case <-ctx.Done():
	case <-time.After(wait):
		resealQuietly(ctx, app, log)
	}
}

// rebind converts a credential that v0.1.0 sealed to the current format, which binds it to its revision. It returns nil
// while nodes of v0.1.0 may have to open the credential.
func (b *External) rebind(c *db.SealedCredential) ([]byte, error) {
	if b.Envelope.Compatible() {
		return nil, nil
	}
	place := connection.Seal(c.Org, c.Workspace, c.ID, c.Kind)
	return b.Envelope.Rebind(c.Sealed, place, connection.SealRevision(place, c.Revision))
}
