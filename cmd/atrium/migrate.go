package main

import (
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type migrateCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (migrateCommand) Help() string {
	return `serve does this too. Run migrate before you upgrade many nodes.

Examples:
  atrium migrate
  atrium migrate --config /etc/atrium.yaml`
}

// Run implements the command.
func (m *migrateCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	return p.open(c, func(app *node.Core) error {
		return p.print(m.JSON, map[string]any{"engine": app.DB.Engine(), "up_to_date": true},
			"The %s database is up to date.\n", app.DB.Engine())
	})
}
