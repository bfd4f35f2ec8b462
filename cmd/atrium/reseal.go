package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/connection"
)

// resealQuietly seals stored credentials under the primary key. A server does so at its start and after each reload.
func resealQuietly(ctx context.Context, app *core, log *slog.Logger) {
	var done sqlstore.Resealed
	err := app.db.Reseal(ctx, app.beyond.envelope.Rewrap, app.beyond.rebind, func(r sqlstore.Resealed) { done = r })
	switch {
	case err != nil && ctx.Err() == nil:
		log.Warn("credentials were not sealed under the primary key", "error", err)
	case done.Changed > 0 || done.Unopened > 0:
		log.Info("credentials were sealed under the primary key", "changed", done.Changed, "unopened", done.Unopened, "of", done.Credentials)
	}
}

// resealAtStart calls resealQuietly at once, since the keyring may have been rotated while no server ran, and again
// when derived keys begin to seal.
func resealAtStart(ctx context.Context, app *core, log *slog.Logger) {
	resealQuietly(ctx, app, log)
	wait := app.keyring.DerivesIn()
	if wait <= 0 {
		return
	}
	log.Info("until keys are derived, nodes of v0.1.0 can run beside this one; stop them before", "at", time.Now().Add(wait).UTC().Format(time.RFC3339))
	select {
	case <-ctx.Done():
	case <-time.After(wait):
		resealQuietly(ctx, app, log)
	}
}

// rebind converts a credential that v0.1.0 sealed to the current format, which binds it to its revision. It returns nil
// while nodes of v0.1.0 may have to open the credential.
func (b *beyond) rebind(c *sqlstore.SealedCredential) ([]byte, error) {
	if b.envelope.Compatible() {
		return nil, nil
	}
	place := connection.Seal(c.Org, c.Workspace, c.ID, c.Kind)
	return b.envelope.Rebind(c.Sealed, place, connection.SealRevision(place, c.Revision))
}

type keysResealCommand struct{}

// Help implements kong.HelpProvider.
func (keysResealCommand) Help() string {
	return `Wraps the data key of each sealed credential with the primary key. It decrypts only credentials that v0.1.0
sealed, to bind them to their revision, a day after the upgrade. A server does the same after a reload: use this
command to watch it, or if no server runs. Once every node has the new key and every credential opens, old keys are
no longer needed.

Example:
  atrium keys reseal`
}

// Run implements the command.
func (keysResealCommand) Run(p *process) error {
	return p.withCore(func(app *core) error {
		total, err := app.db.Credentials(p.ctx)
		if err != nil {
			return err
		}
		var done sqlstore.Resealed
		if err := app.db.Reseal(p.ctx, app.beyond.envelope.Rewrap, app.beyond.rebind, func(r sqlstore.Resealed) {
			done = r
			fmt.Fprintf(p.stdout, "%d of %d\n", r.Credentials, total)
		}); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "Resealed %d; the others were already under the primary key.\n", done.Changed)
		if done.Unopened > 0 {
			return fmt.Errorf("no key of the keyring opens %d credential(s): restore the key file that sealed them, or replace the credentials of these connections", done.Unopened)
		}
		return nil
	})
}
