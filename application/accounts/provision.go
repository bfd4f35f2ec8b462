package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Provision is a request from the command line to set up a person.
type Provision struct {
	Email     string
	Verified  bool   // the administrator vouches for Email: a sign-in with it joins this account
	Name      string // the new person's
	Role      identity.Role
	Operator  bool
	Workspace string // slug, or id of an existing workspace; created if not found
	KeyName   string
	KeyEndsAt time.Time // of the API key; zero: never
}

// Provisioned is the person, with a first API key's token.
type Provisioned struct {
	User      identity.UserID
	Workspace identity.WorkspaceID
	Token     account.Token
}

// Provision gives a person a role in a workspace and an API key, all or nothing. It creates the person
// if none has that address. by must be the system: this is the only way to create the very first
// person. account.ErrAlreadyMember if the person is in the workspace. The first person in a workspace
// must get the owner role. If org forbids personal keys, no key is created and Token is zero.
func (s *Service) Provision(
	ctx context.Context, by identity.Actor, org *identity.Org, p Provision,
) (out Provisioned, err error) {
	out, err = s.provision(ctx, by, org, p)
	if errors.Is(err, account.ErrSlugTaken) { // the workspace was created at the same time
		out, err = s.provision(ctx, by, org, p)
	}
	return out, err
}

// provision creates whichever of workspace, user, membership and key is missing, in one transaction.
func (s *Service) provision(
	ctx context.Context, by identity.Actor, org *identity.Org, p Provision,
) (out Provisioned, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		ws, err := workspaceFor(ctx, tx, by, p)
		if err != nil {
			return err
		}
		by.Workspace = ws.ID
		user, err := memberFor(ctx, tx, by, ws, p)
		if err != nil {
			return err
		}
		out = Provisioned{User: user, Workspace: ws.ID}
		if org.Keys.NoPersonal {
			return nil
		}
		ends := p.KeyEndsAt
		if latest := by.At.Add(org.Keys.MaxLifetime); org.Keys.MaxLifetime > 0 && ends.After(latest) {
			ends = latest
		}
		_, out.Token, err = addKey(ctx, tx.Keys, by, org, user, account.KeyDraft{Name: p.KeyName, ExpiresAt: ends})
		return err
	})
	return out, err
}

// workspaceFor returns the workspace that p names, or creates it for its first owner.
func workspaceFor(ctx context.Context, tx ports.Stores, by identity.Actor, p Provision) (*account.Workspace, error) {
	ws, err := tx.Workspaces.Find(ctx, by.Org, p.Workspace)
	switch {
	case err == nil && !ws.DeletedAt.IsZero():
		return nil, identity.ErrWorkspaceNotFound
	case !errors.Is(err, identity.ErrWorkspaceNotFound):
		return ws, err
	}
	if ws, err = account.NewWorkspace(by, nil, p.Workspace, ""); err != nil {
		return nil, err
	}
	if p.Role != identity.Owner {
		return nil, fault.InField("/role", "not_allowed_value", "The first person in a workspace owns it.")
	}
	return ws, tx.Workspaces.Add(ctx, ws)
}

func memberFor(ctx context.Context, tx ports.Stores, by identity.Actor, ws *account.Workspace,
	p Provision) (identity.UserID, error) {
	u, err := personFor(ctx, tx, by, p)
	if err != nil {
		return "", err
	}
	_, err = tx.Workspaces.Update(ctx, by, ws.ID, []identity.UserID{u.ID},
		func(w *account.Workspace) error { return w.Admit(by, u.ID, p.Role) })
	return u.ID, err
}

// personFor returns the person with the address of p, and creates the person if not found.
func personFor(ctx context.Context, tx ports.Stores, by identity.Actor, p Provision) (*account.User, error) {
	u, _, err := tx.Users.FindByEmail(ctx, by.Org, p.Email)
	switch {
	case errors.Is(err, account.ErrUserNotFound):
		if u, err = account.NewUser(by, p.Email, p.Name, p.Operator); err != nil {
			return nil, err
		}
		if !p.Verified {
			u.EmailVerified, u.EmailVerifiedBy = false, ""
		}
		return u, tx.Users.Add(ctx, u)
	case err != nil:
		return nil, err
	case !u.Enabled():
		return nil, account.ErrUserDisabled
	case p.Operator:
		return tx.Users.Update(ctx, by.Org, u.ID,
			func(u *account.User, m []account.Membership) error { return u.Appoint(by, m) })
	}
	return u, nil
}

// KeyFor creates an API key for a person of the org, identified by e-mail address, in one of their
// workspaces. by must be the system.
func (s *Service) KeyFor(ctx context.Context, by identity.Actor, org *identity.Org, email, workspace string,
	d account.KeyDraft) (*account.Key, account.Token, error) {
	u, memberships, err := s.users.FindByEmail(ctx, by.Org, email)
	if err == nil && !u.Enabled() {
		err = account.ErrUserDisabled
	}
	if err != nil {
		return nil, account.Token{}, err
	}
	for _, m := range memberships {
		if m.Workspace.Slug != workspace && string(m.Workspace.ID) != workspace {
			continue
		}
		by.Workspace = m.Workspace.ID
		return addKey(ctx, s.keys, by, org, u.ID, d)
	}
	return nil, account.Token{}, identity.ErrWorkspaceNotFound
}
