package main

import (
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userUpdateCommand struct {
	Email    string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Operator *bool  `required:"" help:"Make the person an operator; --operator=false revokes that right."`
	Org      string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON     bool   `name:"json" help:"Print JSON: user_id, operator."`
}

// Help implements kong.HelpProvider.
func (userUpdateCommand) Help() string {
	return `Works while the server runs: every node applies it within a second. Operators can see and delete all
presences of the organisation, and disable accounts. To revoke rights that claim rules give, change the rules.

Examples:
  atrium user update --email ada@example.com --operator
  atrium user update --email ada@example.com --operator=false`
}

// Run implements the command.
func (u *userUpdateCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		if err := app.Services.Accounts.SetOperator(p.ctx, by, id, *u.Operator); err != nil {
			return withFields(err)
		}
		verb := "is"
		if !*u.Operator {
			verb = "is not"
		}
		return p.print(u.JSON, map[string]any{"user_id": id, "operator": *u.Operator},
			"%s (%s) %s an operator.\n", u.Email, id, verb)
	})
}
