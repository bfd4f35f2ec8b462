package main

import (
	"encoding/json"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userExportCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
}

// Help implements kong.HelpProvider.
func (userExportCommand) Help() string {
	return `Prints JSON, one line per section: name, truncated, rows. A section has at most 10,000 rows. Contents of
prompts and chats belong to the workspace and are not included.

Example:
  atrium user export --email ada@example.com > ada.jsonl`
}

// Run implements the command.
func (u *userExportCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		lines := json.NewEncoder(p.stdout)
		return app.Services.Accounts.ExportPerson(p.ctx, by, id, func(s account.ExportSection) error {
			rows := s.Rows
			if rows == nil {
				rows = []map[string]any{}
			}
			return lines.Encode(map[string]any{"name": s.Name, "truncated": s.Truncated, "rows": rows})
		})
	})
}
