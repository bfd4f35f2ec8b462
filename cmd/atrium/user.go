package main

import (
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

type userCommand struct {
	Create  userCreateCommand  `cmd:"" help:"Give a new or existing person a role in a workspace and an API key."`
	Update  userUpdateCommand  `cmd:"" help:"Make a person an operator, or revoke that right."`
	Link    userLinkCommand    `cmd:"" help:"Link an issuer's subject to a person's account."`
	Disable userDisableCommand `cmd:"" help:"Disable a person's account: their API keys and sign-ins stop working."`
	Enable  userEnableCommand  `cmd:"" help:"Enable a disabled account."`
	Erase   userEraseCommand   `cmd:"" help:"Erase a person's data for good."`
	Export  userExportCommand  `cmd:"" help:"Print what is stored about a person, as JSON."`
	List    userListCommand    `cmd:"" help:"List the people of an org."`
	Show    userShowCommand    `cmd:"" help:"Show a person's account, and who verified their address."`

	ResetPasskeys userResetPasskeysCommand `cmd:"" help:"Remove the passkeys of a person who has lost them."`
}

// Help implements kong.HelpProvider.
func (userCommand) Help() string {
	return "Example:\n  atrium user create --email ada@example.com --role admin"
}

type userCreateCommand struct {
	Email     string `required:"" help:"E-mail address, unique in the org." placeholder:"EMAIL"`
	Role      string `required:"" enum:"owner,admin,member,viewer" help:"Role: owner, admin, member or viewer."`
	Name      string `help:"Full name of a new person." placeholder:"NAME"`
	Operator  bool   `help:"Make the person an operator, who can see and delete all presences of the org."`
	Workspace string `default:"default" help:"Slug of the workspace; created if it does not exist." placeholder:"SLUG"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: user_id, workspace_id, token."`
}

// Help implements kong.HelpProvider.
func (userCreateCommand) Help() string {
	return `Works while the server runs. If no person has the address, the command creates one; if the
workspace does not exist, the command creates it, and the person owns it. The token is shown only once.

Examples:
  atrium user create --email ada@example.com --role admin
  atrium user create --email bob@example.com --role owner --workspace research --json`
}

// Run implements the command.
func (u *userCreateCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, u.Org)
		if err != nil {
			return err
		}
		result, err := app.Services.Accounts.Provision(p.ctx, byCommand(org), org, accounts.Provision{
			Email: u.Email, Verified: true, Name: u.Name, Role: identity.ParseRole(u.Role), Operator: u.Operator,
			Workspace: u.Workspace, KeyName: "made by atrium user create",
		})
		if errors.Is(err, account.ErrAlreadyMember) {
			return fmt.Errorf("%s is a member of the workspace %s already; for another API key: %s --email %s "+
				"--workspace %s", u.Email, u.Workspace, p.hint("token create"), u.Email, u.Workspace)
		}
		if err != nil {
			return withFields(err)
		}
		if org.Keys.NoPersonal {
			return p.print(u.JSON, map[string]any{"user_id": result.User, "workspace_id": result.Workspace,
				"token": nil},
				"%s (%s) is %s of the workspace %s (%s). The organisation allows no personal API keys: the person "+
					"signs in.\n",
				u.Email, result.User, withArticle(u.Role), u.Workspace, result.Workspace)
		}
		return p.print(u.JSON, map[string]any{"user_id": result.User, "workspace_id": result.Workspace,
			"token": result.Token.Reveal()},
			"%s (%s) is %s of the workspace %s (%s). The API key is shown only once:\n%s\n", u.Email, result.User,
			withArticle(u.Role), u.Workspace, result.Workspace, result.Token.Reveal())
	})
}

// withArticle returns a role with its indefinite article.
func withArticle(role string) string {
	if role == "owner" || role == "admin" {
		return "an " + role
	}
	return "a " + role
}
