package main

import (
	"cmp"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

type userListCommand struct {
	Org  string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON bool   `name:"json" help:"Print a JSON array of people: user_id, email, name, operator, disabled, created_at."`
}

// Help implements kong.HelpProvider.
func (userListCommand) Help() string {
	return "Lists people by e-mail address, without the users of service keys.\n\nExample:\n  atrium user list"
}

// Run implements the command.
func (l *userListCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, l.Org)
		if err != nil {
			return err
		}
		people, err := everyPage(func(q page.Query) (account.UserPage, error) {
			return app.Services.Accounts.People(p.ctx, by, q)
		})
		if err != nil {
			return err
		}
		return list(p, l.JSON, []string{"ID", "EMAIL", "NAME", "OPERATOR", "STATUS", "CREATED"}, people,
			func(u account.User) (any, []string) {
				status := "enabled"
				if !u.Enabled() {
					status = "disabled"
				}
				return map[string]any{
						"user_id": u.ID, "email": u.Email, "name": u.Name, "operator": u.Operator,
						"disabled": !u.Enabled(), "created_at": u.CreatedAt,
					}, []string{
						string(u.ID), u.Email, u.Name, yes(u.Operator), status, u.CreatedAt.Format(time.DateOnly),
					}
			})
	})
}

type workspaceListCommand struct {
	Org  string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON bool   `name:"json" help:"Print a JSON array of workspaces: workspace_id, slug, name, created_at, deleted_at."`
}

// Help implements kong.HelpProvider.
func (workspaceListCommand) Help() string {
	return "Lists workspaces by slug, including deleted ones that are not purged yet.\n\n" +
		"Example:\n  atrium workspace list"
}

// Run implements the command.
func (l *workspaceListCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, l.Org)
		if err != nil {
			return err
		}
		all, err := everyPage(func(q page.Query) (account.WorkspacePage, error) {
			return app.Services.Accounts.OrgWorkspaces(p.ctx, by, q)
		})
		if err != nil {
			return err
		}
		return list(p, l.JSON, []string{"ID", "SLUG", "NAME", "CREATED", "DELETED"}, all,
			func(w account.Workspace) (any, []string) {
				return map[string]any{
						"workspace_id": w.ID, "slug": w.Slug, "name": w.Name, "created_at": w.CreatedAt,
						"deleted_at": orNull(w.DeletedAt),
					}, []string{
						string(w.ID), w.Slug, w.Name, w.CreatedAt.Format(time.DateOnly), orNever(w.DeletedAt),
					}
			})
	})
}

type tokenListCommand struct {
	Workspace string `default:"default" help:"Slug or id of the keys' workspace." placeholder:"SLUG"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print a JSON array of keys."`
}

// Help implements kong.HelpProvider.
func (tokenListCommand) Help() string {
	return `Lists the keys that are not revoked and not expired, newest first. The hint is the last four
characters of the token.

Examples:
  atrium token list
  atrium token list --workspace research --json`
}

// Run implements the command.
func (l *tokenListCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, l.Org)
		if err != nil {
			return err
		}
		keys, err := everyPage(func(q page.Query) (account.KeyPage, error) {
			return app.Services.Accounts.KeysOf(p.ctx, by, l.Workspace, q)
		})
		if err != nil {
			return err
		}
		return list(p, l.JSON, []string{"ID", "NAME", "USER", "ROLE", "SCOPES", "ADDRESSES", "HINT", "LAST USED",
			"FROM", "EXPIRES"}, keys,
			func(k account.Key) (any, []string) {
				role := any(nil)
				if k.Ceiling != identity.NoRole {
					role = k.Ceiling.String()
				}
				return map[string]any{
						"api_key_id": k.ID, "user_id": k.User, "name": k.Name, "role": role, "service": k.Service,
						"hint": k.Hint, "created_at": k.CreatedAt, "last_used_at": orNull(k.LastUsedAt),
						"expires_at": orNull(k.ExpiresAt), "last_used_address": k.LastUsedBy,
						"scopes": k.Scopes.Names(), "allowed_addresses": k.Networks.List(),
					}, []string{
						string(k.ID), k.Name, string(k.User), k.Ceiling.String(), cmp.Or(string(k.Scopes), "all"),
						cmp.Or(string(k.Networks), "all"), "…" + k.Hint, orNever(k.LastUsedAt),
						cmp.Or(k.LastUsedBy, "-"), orNever(k.ExpiresAt),
					}
			})
	})
}

// everyPage reads a list to its end.
func everyPage[T any](read func(page.Query) (page.Of[T], error)) ([]T, error) {
	var all []T
	for q := (page.Query{Limit: 500}); ; {
		list, err := read(q)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if q.After = list.Next; q.After == "" {
			return all, nil
		}
	}
}

// list prints items as an array of JSON, or as a table.
func list[T any](p *process, asJSON bool, names []string, items []T, show func(T) (any, []string)) error {
	objects, rows := make([]any, len(items)), make([][]string, len(items))
	for i, item := range items {
		objects[i], rows[i] = show(item)
	}
	if asJSON {
		return p.json(objects)
	}
	return p.table(names, rows)
}

// orNull returns a time for JSON, where a zero one is null.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// orNever returns a time for a table.
func orNever(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}

func yes(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}
