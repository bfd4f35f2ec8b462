package main

import (
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userLinkCommand struct {
	Email   string `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Issuer  string `required:"" help:"The issuer's url, exactly as it is configured." placeholder:"URL"`
	Subject string `required:"" help:"Subject at the issuer: the sub of the person's tokens." placeholder:"SUB"`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Print JSON: user_id, taken_from (null if the subject was not linked)."`
}

// Help implements kong.HelpProvider.
func (userLinkCommand) Help() string {
	return `Atrium treats two subjects of one issuer as two people, even if they have the same e-mail address:
each gets an account. Use this command if they are one person, such as after a move within the provider. The
account that loses the sign-in keeps its memberships and API keys.

Example:
  atrium user link --email ada@example.com --issuer https://login.example.com --subject 248289761001`
}

// Run implements the command.
func (u *userLinkCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, u.Org)
		if err != nil {
			return err
		}
		link, err := app.Services.Accounts.LinkSignIn(p.ctx, identity.System(org.ID, "", "cli", time.Now()), org,
			u.Email, u.Issuer, u.Subject)
		if err != nil {
			return withFields(err)
		}
		from, previous := "", any(nil)
		if link.From != "" {
			from, previous = ", and no longer as "+string(link.From), link.From
		}
		return p.print(u.JSON, map[string]any{"user_id": link.To, "taken_from": previous},
			"Subject %s of %s signs in as %s (%s)%s.\n", u.Subject, u.Issuer, u.Email, link.To, from)
	})
}
