package main

import (
	"errors"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userEraseCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Yes   bool   `help:"Confirm the erasure. Without it, nothing is erased."`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print JSON: user_id, erasure_id, done, report."`
}

// Help implements kong.HelpProvider.
func (userEraseCommand) Help() string {
	return `Removes a person's name, address, sign-ins, sessions, API keys, memberships, shares and invitations, and
redacts the audit trail, in which only the user id of the person stays. Cannot be undone. Works while the
server runs. Refused while the person is the only owner of a workspace. Earlier backups still contain the data.

Example:
  atrium user erase --email ada@example.com --yes`
}

// errNotConfirmed is returned if --yes is missing.
var errNotConfirmed = errors.New("this cannot be undone: repeat the command with --yes")

// Run implements the command.
func (u *userEraseCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		if !u.Yes {
			return errNotConfirmed
		}
		accounts := app.Services.Accounts
		if _, err := accounts.ErasePerson(p.ctx, by, id); err != nil {
			return withFields(err)
		}
		if err := accounts.CompleteErasure(p.ctx, by, id); err != nil {
			return err
		}
		e, err := accounts.Erasure(p.ctx, by, id)
		if err != nil {
			return err
		}
		return p.print(u.JSON,
			map[string]any{"user_id": id, "erasure_id": e.ID, "done": !e.EndedAt.IsZero(), "report": e.Report},
			"%s was erased. Ended: %s, %s, %s. Redacted: %s.\n", id, node.Count(e.Report.Memberships, "membership"),
			node.Count(e.Report.Keys, "API key"), node.Count(e.Report.Sessions, "session"),
			node.Count(e.Report.Events, "event"))
	})
}
