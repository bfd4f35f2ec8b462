package main

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

type userLinkCommand struct {
	Email   string `required:"" help:"Whose account." placeholder:"EMAIL"`
	Issuer  string `required:"" help:"The issuer's url, exactly as it is configured." placeholder:"URL"`
	Subject string `required:"" help:"Who that is at the issuer: the sub of their tokens." placeholder:"SUB"`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Answer as JSON: user_id, taken_from (null if nobody signed in so)."`
}

// Help implements kong.HelpProvider.
func (userLinkCommand) Help() string {
	return `Two subjects of one issuer are two people to Atrium, though they have the same e-mail address: the
second one gets an account of their own. Use this where they are one person, such as after a move
within the provider. An account that loses the sign-in keeps its memberships and API keys.

Example:
  atrium user link --email ada@example.com --issuer https://login.example.com --subject 248289761001`
}

// Run implements the command.
func (u *userLinkCommand) Run(p *process) error {
	return p.withCore(func(app *core) error {
		org, err := orgNamed(app, u.Org)
		if err != nil {
			return err
		}
		linked, err := app.services.Accounts.LinkSignIn(p.ctx, identity.System(org.ID, "", "cli", time.Now()), org, u.Email, u.Issuer, u.Subject)
		if err != nil {
			return explain(err)
		}
		from, was := "", any(nil)
		if linked.From != "" {
			from, was = ", and no longer as "+string(linked.From), linked.From
		}
		return p.print(u.JSON, map[string]any{"user_id": linked.To, "taken_from": was},
			"Subject %s of %s signs in as %s (%s)%s.\n", u.Subject, u.Issuer, u.Email, linked.To, from)
	})
}
