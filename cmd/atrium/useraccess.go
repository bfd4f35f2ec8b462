package main

import (
	"fmt"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userDisableCommand struct {
	Email           string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Reason          string `help:"Why, for the audit trail: at most 200 characters." placeholder:"TEXT"`
	KeepServiceKeys bool   `help:"Keep the service keys that the person created."`
	Org             string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON            bool   `name:"json" help:"Print JSON: user_id, disabled."`
}

// Help implements kong.HelpProvider.
func (userDisableCommand) Help() string {
	return `Works while the server runs: within a second every node refuses the person's API keys and sign-ins,
and ends their streams. Service keys that the person created are revoked permanently. Everything
else is unchanged, and works again after atrium user enable.

Example:
  atrium user disable --email ada@example.com --reason "left the company"`
}

// Run implements the command.
func (u *userDisableCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		keep := account.KeepServiceKeys(u.KeepServiceKeys)
		if _, err := app.Services.Accounts.DisablePerson(p.ctx, by, id, u.Reason, keep); err != nil {
			return withFields(err)
		}
		return p.print(u.JSON, map[string]any{"user_id": id, "disabled": true}, "The account of %s (%s) is disabled.\n",
			u.Email, id)
	})
}

type userEnableCommand struct {
	Email  string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Reason string `help:"Why, for the audit trail: at most 200 characters." placeholder:"TEXT"`
	Org    string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON   bool   `name:"json" help:"Print JSON: user_id, disabled."`
}

// Help implements kong.HelpProvider.
func (userEnableCommand) Help() string {
	return `The person's API keys and sign-ins work again, and service keys that a directory suspended. Service keys that
were revoked stay revoked.

Example:
  atrium user enable --email ada@example.com`
}

// Run implements the command.
func (u *userEnableCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		if err := app.Services.Accounts.EnablePerson(p.ctx, by, id, u.Reason); err != nil {
			return withFields(err)
		}
		return p.print(u.JSON, map[string]any{"user_id": id, "disabled": false}, "The account of %s (%s) is enabled.\n",
			u.Email, id)
	})
}

type userResetPasskeysCommand struct {
	Email string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print JSON: user_id, removed, the number of passkeys that were removed."`
}

// Help implements kong.HelpProvider.
func (userResetPasskeysCommand) Help() string {
	return `For a person who has lost their passkeys: removes all of them, and ends the person's sessions.
The person signs in another way, such as with a link of atrium console, and adds a new passkey.
First make sure that it is this person who asks: afterwards, anyone who reads their mail can add one.

Example:
  atrium user reset-passkeys --email ada@example.com`
}

// Run implements the command.
func (u *userResetPasskeysCommand) Run(p *process) error {
	return p.withPerson(u.Org, u.Email, func(app *node.Core, by identity.Actor, id identity.UserID) error {
		count, err := app.Services.Passkeys.Reset(p.ctx, by, id)
		if err != nil {
			return err
		}
		return p.print(u.JSON, map[string]any{"user_id": id, "removed": count},
			"Passkeys of %s that were removed: %d.\n",
			u.Email, count)
	})
}

// withPerson runs f for an org's person with an e-mail address.
func (p *process) withPerson(org, email string, f func(*node.Core, identity.Actor, identity.UserID) error) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, org)
		if err != nil {
			return err
		}
		user, _, err := app.Services.Accounts.Find(p.ctx, by, email)
		if err != nil {
			return fmt.Errorf("%s: %w", email, err)
		}
		return f(app, by, user.ID)
	})
}
