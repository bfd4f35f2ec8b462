package main

import (
	"fmt"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type keysResealCommand struct {
	JSON bool `name:"json" help:"Print JSON: total, resealed, unopened."`
}

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
func (k *keysResealCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		var result db.Resealed
		if err := app.Reseal(p.ctx, func(r db.Resealed) {
			result = r
			if !k.JSON {
				fmt.Fprintf(p.stdout, "%d looked at\n", r.Credentials)
			}
		}); err != nil {
			return err
		}
		if err := p.print(k.JSON, map[string]any{"total": result.Credentials, "resealed": result.Changed,
			"unopened": result.Unopened},
			"Resealed %d; the others were already under the primary key.\n", result.Changed); err != nil {
			return err
		}
		if result.Unopened > 0 {
			return fmt.Errorf("no key of the keyring opens %s: restore the key file that sealed them, "+
				"or replace the credentials of these connections", node.Count(result.Unopened, "credential"))
		}
		return nil
	})
}
