package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// withCore runs f on opened data.
func (p *process) withCore(f func(*node.Core) error) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	app, closeAll, err := buildCore(p.ctx, c, node.NewLog(p.stderr, c.Log))
	if err != nil {
		return err
	}
	defer closeAll()
	return f(app)
}

// print writes v as one line of JSON, or as text.
func (p *process) print(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(p.stdout).Encode(v)
	}
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return err
}

// inOrg returns the actor of the command line in the org that orgNamed finds.
func inOrg(app *node.Core, slug string) (identity.Actor, error) {
	org, err := orgNamed(app, slug)
	if err != nil {
		return identity.Actor{}, err
	}
	return byCommand(org), nil
}

// byCommand returns the actor of the command line in an org.
func byCommand(org *identity.Org) identity.Actor {
	return identity.System(org.ID, "", "cli", time.Now())
}

// orgNamed returns the configured org with a slug. An empty slug names the only org.
func orgNamed(app *node.Core, slug string) (*identity.Org, error) {
	d := app.Orgs.Directory()
	if slug == "" {
		if all := d.All(); len(all) == 1 {
			slug = all[0].Slug
		} else {
			return nil, usageError{errors.New("several orgs are configured: name one with --org")}
		}
	}
	org, ok := d.BySlug(slug)
	if !ok {
		return nil, usageError{fmt.Errorf("no org %q is configured", slug)}
	}
	return org, nil
}

// withFields adds the invalid inputs to the error of a refused command.
func withFields(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, field := range f.Fields {
			err = fmt.Errorf("%w %s: %s", err, field.Pointer[1:], field.Detail)
		}
	}
	return err
}

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
	return p.withCore(func(app *node.Core) error {
		return p.print(m.JSON, map[string]any{"engine": app.DB.Engine(), "up_to_date": true}, "The %s database is up to date.\n", app.DB.Engine())
	})
}

type keysCommand struct {
	List   keysListCommand   `cmd:"" help:"List the keys of the keyring, without key material."`
	Create keysCreateCommand `cmd:"" help:"Create the key file, if there is none."`
	Rotate keysRotateCommand `cmd:"" help:"Create a new primary key. Old keys still open what they sealed."`
	Reseal keysResealCommand `cmd:"" help:"Seal stored credentials again, under the primary key."`
}

// Help implements kong.HelpProvider.
func (keysCommand) Help() string { return "Example:\n  atrium keys list" }

type keysListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (keysListCommand) Help() string { return "Example:\n  atrium keys list --json" }

// Run implements the command.
func (k *keysListCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	ring, err := seal.Open(c.Keyring)
	if err != nil {
		return err
	}
	if k.JSON {
		return p.print(true, map[string]any{"keys": ring.Keys()}, "")
	}
	for _, key := range ring.Keys() {
		mark := ""
		if key.Primary {
			mark = "  primary"
		}
		if err := p.print(false, nil, "%d  %s%s\n", key.ID, key.Status, mark); err != nil {
			return err
		}
	}
	return nil
}

type keysCreateCommand struct{}

// Help implements kong.HelpProvider.
func (keysCreateCommand) Help() string {
	return `serve creates a key file on its first start. Use this command to create one for several nodes, and copy it to each.

Example:
  atrium keys create --data /var/lib/atrium`
}

// Run implements the command.
func (k *keysCreateCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	if err := refuseSealed(p, c); err != nil {
		return err
	}
	if err := node.CreateKeyFile(c); err != nil {
		return err
	}
	return p.print(false, nil, "Created %s. Back it up: without it sealed secrets are lost.\n", c.Keyring.KeyFile)
}

// refuseSealed returns an error if the database is sealed with another keyring: that key file is missing, and a new
// one would not open the data.
func refuseSealed(p *process, c configs.Config) error {
	db, closeDB, err := sqlstore.Inspect(p.ctx, c.Database, node.OpenPool)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closeDB()
	if pending, err := db.Pending(p.ctx); err != nil || pending > 0 {
		return err
	}
	check, err := db.SealedBy(p.ctx)
	if err == nil && check != nil {
		err = node.KeyFileMissing(c)
	}
	return err
}

type keysRotateCommand struct{}

// Help implements kong.HelpProvider.
func (keysRotateCommand) Help() string {
	return `On SIGHUP, a running server loads the new key and seals stored credentials with it. With several nodes,
rotate on one, copy the key file to the others, then send each a SIGHUP. A node that finds a key ID that it does not
know reads its key file again, and needs to find the key there.

Example:
  atrium keys rotate && pkill -HUP atrium`
}

// Run implements the command.
func (k *keysRotateCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	ring, err := seal.Open(c.Keyring)
	if err != nil {
		return err
	}
	key, err := ring.Rotate()
	if err != nil {
		return err
	}
	return p.print(false, nil, "Key %d is now the primary key. Copy the key file to every node, send running servers a SIGHUP, and back the file up.\n", key.ID)
}

type userCommand struct {
	Create  userCreateCommand  `cmd:"" help:"Give a new or existing person a role in a workspace and an API key."`
	Link    userLinkCommand    `cmd:"" help:"Link an issuer's subject to a person's account."`
	Disable userDisableCommand `cmd:"" help:"Disable a person's account: their API keys and sign-ins stop working."`
	Enable  userEnableCommand  `cmd:"" help:"Enable a disabled account."`
	Show    userShowCommand    `cmd:"" help:"Show a person's account, and who verified their address."`
}

// Help implements kong.HelpProvider.
func (userCommand) Help() string {
	return "Example:\n  atrium user create --email ada@example.com --role admin"
}

type userCreateCommand struct {
	Email     string `required:"" help:"E-mail address, unique in the org." placeholder:"EMAIL"`
	Role      string `required:"" enum:"owner,admin,member,viewer" help:"Role in the workspace: owner, admin, member or viewer."`
	Name      string `help:"Full name of a new person." placeholder:"NAME"`
	Operator  bool   `help:"Make the person an operator, who can see and end all presences of the org."`
	Workspace string `default:"default" help:"Slug of the workspace; created if it does not exist." placeholder:"SLUG"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: user_id, workspace_id, token."`
}

// Help implements kong.HelpProvider.
func (userCreateCommand) Help() string {
	return `Works beside a running server. If no person has the address, the command creates one; if the workspace does not
exist, it creates that, and the person owns it. The token is shown only once.

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
		made, err := app.Services.Accounts.Provision(p.ctx, byCommand(org), org, accounts.Provision{
			Email: u.Email, Verified: true, Name: u.Name, Role: identity.ParseRole(u.Role), Operator: u.Operator, Workspace: u.Workspace, KeyName: "made by atrium user create",
		})
		if errors.Is(err, account.ErrAlreadyMember) {
			return fmt.Errorf("%s is a member of the workspace %s already; for another API key: %s --email %s --workspace %s", u.Email, u.Workspace, p.hint("token create"), u.Email, u.Workspace)
		}
		if err != nil {
			return withFields(err)
		}
		if org.Keys.NoPersonal {
			return p.print(u.JSON, map[string]any{"user_id": made.User, "workspace_id": made.Workspace, "token": nil},
				"%s (%s) is %s of the workspace %s (%s). The organisation allows no personal API keys: the person signs in.\n",
				u.Email, made.User, withArticle(u.Role), u.Workspace, made.Workspace)
		}
		return p.print(u.JSON, map[string]any{"user_id": made.User, "workspace_id": made.Workspace, "token": made.Token.Reveal()},
			"%s (%s) is %s of the workspace %s (%s). The API key is shown only once:\n%s\n", u.Email, made.User, withArticle(u.Role), u.Workspace, made.Workspace, made.Token.Reveal())
	})
}

// withArticle returns a role with its indefinite article.
func withArticle(role string) string {
	if role == "owner" || role == "admin" {
		return "an " + role
	}
	return "a " + role
}

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Create an API key for a person."`
	Revoke tokenRevokeCommand `cmd:"" help:"Revoke an API key."`
}

// Help implements kong.HelpProvider.
func (tokenCommand) Help() string { return "Example:\n  atrium token create --email ada@example.com" }

type tokenCreateCommand struct {
	Email     string    `required:"" help:"E-mail address of the person." placeholder:"EMAIL"`
	Workspace string    `default:"default" help:"Slug or id of the key's workspace." placeholder:"SLUG"`
	Role      string    `enum:"owner,admin,member,viewer," default:"" help:"Highest role that the key can use: a key with viewer can only read."`
	Expires   *duration `help:"Lifetime of the key, such as 12h or 30d. Default: the org's api_keys.max_lifetime, or no end." placeholder:"DURATION"`
	Name      string    `default:"made by atrium token create" help:"Name of the key: what it is for."`
	Org       string    `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool      `name:"json" help:"Print JSON: api_key_id, user_id, workspace_id, token."`
}

// Help implements kong.HelpProvider.
func (tokenCreateCommand) Help() string {
	return `Examples:
  atrium token create --email owner@localhost
  atrium token create --email ada@example.com --role viewer --expires 30d --json`
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
		if t.Expires != nil {
			d.ExpiresAt = by.At.Add(time.Duration(*t.Expires))
		}
		k, token, err := app.Services.Accounts.KeyFor(p.ctx, by, org, t.Email, t.Workspace, d)
		if err != nil {
			return fmt.Errorf("%s in the workspace %s: %w", t.Email, t.Workspace, withFields(err))
		}
		return p.print(t.JSON, map[string]any{"api_key_id": k.ID, "user_id": k.User, "workspace_id": k.Workspace, "token": token.Reveal()},
			"API key %s of %s in the workspace %s, shown only once:\n%s\n", k.ID, t.Email, t.Workspace, token.Reveal())
	})
}

type tokenRevokeCommand struct {
	ID        string `arg:"" help:"The key's id: key_…"`
	Workspace string `default:"default" help:"Slug or id of the key's workspace." placeholder:"SLUG"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
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
		return p.print(false, nil, "Revoked %s.\n", t.ID)
	})
}

type openAPICommand struct{}

// Help implements kong.HelpProvider.
func (openAPICommand) Help() string { return "Example:\n  atrium openapi > atrium.openapi.json" }

// Run implements the command.
func (openAPICommand) Run(p *process) error {
	contract, err := openapi.Load()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(contract.JSON())
	return err
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (versionCommand) Help() string { return "Example:\n  atrium version" }

// Run implements the command.
func (v *versionCommand) Run(p *process) error {
	return p.print(v.JSON, map[string]string{"version": version}, "%s\n", version)
}
