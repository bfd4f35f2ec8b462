package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Provision is what an operator of the deployment asks for a person from the command line.
type Provision struct {
	Email     string
	Name      string
	Role      identity.Role
	Operator  bool
	Workspace string // slug; made if there is none
	KeyName   string
}

// Provisioned is the person, with the token of a first API key.
type Provisioned struct {
	User      identity.UserID
	Workspace identity.WorkspaceID
	Token     account.Token
}

// Provision makes a user with a role in a workspace and an API key, all or nothing. by is the
// system; there is no other way in for the very first person.
func (s *Service) Provision(ctx context.Context, by identity.Actor, p Provision) (out Provisioned, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		ws, err := tx.Workspaces.Find(ctx, by.Org, p.Workspace)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			if ws, err = account.NewWorkspace(by, p.Workspace, ""); err == nil {
				err = tx.Workspaces.Add(ctx, ws)
			}
		}
		if err != nil {
			return err
		}
		by.Workspace = ws.ID
		u, err := account.NewUser(by, p.Email, p.Name, p.Operator)
		if err != nil {
			return err
		}
		if err := tx.Users.Add(ctx, u, []account.Membership{{Workspace: *ws, Role: p.Role}}); err != nil {
			return err
		}
		k, token, err := account.NewKeyFor(by, u.ID, account.KeyDraft{Name: p.KeyName, Ceiling: max(p.Role, identity.Member)})
		if err != nil {
			return err
		}
		out = Provisioned{User: u.ID, Workspace: ws.ID, Token: token}
		return tx.Keys.Add(ctx, k)
	})
	return out, err
}

// KeyFor makes an API key for a person of the org, known by e-mail address, in a workspace of
// theirs. by is the system.
func (s *Service) KeyFor(ctx context.Context, by identity.Actor, email, workspace string, d account.KeyDraft) (*account.Key, account.Token, error) {
	u, memberships, err := s.users.FindByEmail(ctx, by.Org, email)
	if err != nil {
		return nil, account.Token{}, err
	}
	for _, m := range memberships {
		if m.Workspace.Slug != workspace && string(m.Workspace.ID) != workspace {
			continue
		}
		by.Workspace = m.Workspace.ID
		if d.Ceiling == identity.NoRole {
			d.Ceiling = max(m.Role, identity.Member)
		}
		k, token, err := account.NewKeyFor(by, u.ID, d)
		if err != nil {
			return nil, account.Token{}, err
		}
		return k, token, s.keys.Add(ctx, k)
	}
	return nil, account.Token{}, identity.ErrWorkspaceNotFound
}
