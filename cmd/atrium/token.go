package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Create an API key for a person."`
	List   tokenListCommand   `cmd:"" help:"List the API keys of a workspace."`
	Revoke tokenRevokeCommand `cmd:"" help:"Revoke an API key."`
}

// Help implements kong.HelpProvider.
func (tokenCommand) Help() string { return "Example:\n  atrium token create --email ada@example.com" }

type tokenCreateCommand struct {
	Email        string    `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Workspace    string    `default:"default" help:"Slug or id of the key's workspace." placeholder:"SLUG"`
	Role         string    `enum:"owner,admin,member,viewer," default:"" help:"Highest role of the key."`
	Expires      *duration `help:"Lifetime, such as 30d. Default: the org's maximum, or no expiry." placeholder:"DURATION"`
	Scope        []string  `help:"A scope, such as prompts:read; repeatable. Default: no limit." placeholder:"SCOPE"`
	AllowAddress []string  `help:"Address or network that can use it; repeatable. Default: all." placeholder:"CIDR"`
	Name         string    `default:"made by atrium token create" help:"Name of the key: what it is for."`
	Org          string    `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON         bool      `name:"json" help:"Print JSON: api_key_id, user_id, workspace_id, token."`
}

// Help implements kong.HelpProvider.
func (tokenCreateCommand) Help() string {
	return `Examples:
  atrium token create --email owner@localhost
  atrium token create --email ada@example.com --role viewer --expires 30d --json
  atrium token create --email ada@example.com --scope prompts:render --allow-address 203.0.113.0/24`
}

// Run implements the command.
func (t *tokenCreateCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, t.Org)
		if err != nil {
			return err
		}
		by := byCommand(org)
		d := account.KeyDraft{Name: t.Name, Ceiling: identity.ParseRole(t.Role)}
		if err := t.limit(&d); err != nil {
			return err
		}
		if t.Expires != nil {
			d.ExpiresAt = by.At.Add(time.Duration(*t.Expires))
		}
		k, token, err := app.Services.Accounts.KeyFor(p.ctx, by, org, t.Email, t.Workspace, d)
		if err != nil {
			return fmt.Errorf("%s in the workspace %s: %w", t.Email, t.Workspace, withFields(err))
		}
		return p.print(t.JSON, map[string]any{"api_key_id": k.ID, "user_id": k.User, "workspace_id": k.Workspace,
			"token": token.Reveal()},
			"API key %s of %s in the workspace %s, shown only once:\n%s\n", k.ID, t.Email, t.Workspace, token.Reveal())
	})
}

// limit adds the scopes and the networks of t to d.
func (t *tokenCreateCommand) limit(d *account.KeyDraft) error {
	var ok bool
	if d.Scopes, ok = identity.NewScopes(t.Scope); !ok {
		var names []string
		for _, s := range identity.AllScopes() {
			names = append(names, string(s))
		}
		return fmt.Errorf("--scope: must be one of %s", strings.Join(names, ", "))
	}
	if d.Networks, ok = identity.NewNetworks(t.AllowAddress); !ok {
		return errors.New("--allow-address: must be an IP address, or a network such as 203.0.113.0/24")
	}
	if len(d.Networks.List()) > identity.MaxNetworks {
		return fmt.Errorf("--allow-address: at most %d", identity.MaxNetworks)
	}
	return nil
}

type tokenRevokeCommand struct {
	ID        string `arg:"" help:"The key's id: key_…"`
	Workspace string `default:"default" help:"Slug or id of the key's workspace." placeholder:"SLUG"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: api_key_id, revoked."`
}

// Help implements kong.HelpProvider.
func (tokenRevokeCommand) Help() string {
	return `A running server refuses the key within a second.

Example:
  atrium token revoke key_01jb4rqnx1e5btz2s1v2j9k3mn`
}

// Run implements the command.
func (t *tokenRevokeCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, t.Org)
		if err != nil {
			return err
		}
		if err := app.Services.Accounts.RevokeKeyOf(p.ctx, by, t.Workspace, identity.KeyID(t.ID)); err != nil {
			return err
		}
		return p.print(t.JSON, map[string]any{"api_key_id": t.ID, "revoked": true}, "Revoked %s.\n", t.ID)
	})
}
