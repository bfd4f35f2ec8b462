// Package accounts is what callers can do with themselves, their workspaces, their API keys and
// the audit trail.
package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Service holds the use cases, one method each.
type Service struct {
	atomic     ports.Atomic
	users      ports.Users
	workspaces ports.Workspaces
	keys       ports.Keys
	events     ports.Events
}

// NewService returns the use cases on these stores.
func NewService(a ports.Atomic, u ports.Users, w ports.Workspaces, k ports.Keys, e ports.Events) *Service {
	return &Service{atomic: a, users: u, workspaces: w, keys: k, events: e}
}

// Authenticate answers whom a token of org proves. Whatever is wrong with it, the error is
// identity.ErrUnauthenticated.
func (s *Service) Authenticate(ctx context.Context, org identity.OrgID, token string, now time.Time) (*account.Principal, error) {
	t, ok := account.ParseToken(token)
	if !ok {
		return nil, identity.ErrUnauthenticated
	}
	p, err := s.keys.Principal(ctx, org, t.Hash())
	if err != nil {
		return nil, err
	}
	if !p.Key.Live(now) || p.Membership.Role == identity.NoRole {
		return nil, identity.ErrUnauthenticated
	}
	return p, nil
}

// NoteUse writes down that a key was used; at most once a minute that costs a write.
func (s *Service) NoteUse(ctx context.Context, k account.Key, now time.Time) error {
	if now.Sub(k.LastUsedAt) < time.Minute {
		return nil
	}
	return s.keys.Used(ctx, k.Org, k.ID, now)
}

// Me returns the caller and its memberships.
func (s *Service) Me(ctx context.Context, by identity.Actor) (*account.User, []account.Membership, error) {
	return s.users.Get(ctx, by.Org, by.User)
}

// Find returns the person of by's org with an e-mail address. by is the system.
func (s *Service) Find(ctx context.Context, by identity.Actor, email string) (*account.User, []account.Membership, error) {
	return s.users.FindByEmail(ctx, by.Org, email)
}

// ChangeMe changes what callers may change of themselves.
func (s *Service) ChangeMe(ctx context.Context, by identity.Actor, at revision.Match, c account.UserChanges) (*account.User, error) {
	return s.users.Update(ctx, by.Org, by.User, func(u *account.User, m []account.Membership) error { return u.Change(by, at, m, c) })
}

// Workspace returns one of the caller's workspaces.
func (s *Service) Workspace(ctx context.Context, by identity.Actor, ws identity.WorkspaceID) (*account.Membership, error) {
	_, memberships, err := s.users.Get(ctx, by.Org, by.User)
	if err != nil {
		return nil, err
	}
	for _, m := range memberships {
		if m.Workspace.ID == ws {
			return &m, nil
		}
	}
	return nil, identity.ErrWorkspaceNotFound
}

// Keys lists the live API keys: an admin sees those of the whole workspace, others their own.
func (s *Service) Keys(ctx context.Context, by identity.Actor, q page.Query) (account.KeyPage, error) {
	user := by.User
	if by.Role >= identity.Admin {
		user = ""
	}
	return s.keys.List(ctx, by.Workspace, user, by.At, q)
}

// Key returns one API key, live or revoked.
func (s *Service) Key(ctx context.Context, by identity.Actor, id identity.KeyID) (*account.Key, error) {
	k, err := s.keys.Get(ctx, by.Workspace, id)
	if err != nil {
		return nil, err
	}
	if !k.Access(by) {
		return nil, account.ErrKeyNotFound
	}
	return k, nil
}

// CreateKey makes an API key for the caller; the token is shown this once.
func (s *Service) CreateKey(ctx context.Context, by identity.Actor, d account.KeyDraft) (*account.Key, account.Token, error) {
	k, token, err := account.NewKey(by, d)
	if err != nil {
		return nil, account.Token{}, err
	}
	return k, token, s.keys.Add(ctx, k)
}

// RevokeKey ends an API key at once.
func (s *Service) RevokeKey(ctx context.Context, by identity.Actor, id identity.KeyID, at revision.Match) error {
	_, err := s.keys.Update(ctx, by.Workspace, id, func(k *account.Key) error { return k.Revoke(by, at) })
	return err
}

// RevokeKeyOf ends a key of any workspace of by's org, named by slug or id. by is the system.
func (s *Service) RevokeKeyOf(ctx context.Context, by identity.Actor, workspace string, id identity.KeyID) error {
	ws, err := s.workspaces.Find(ctx, by.Org, workspace)
	if err != nil {
		return err
	}
	by.Workspace = ws.ID
	return s.RevokeKey(ctx, by, id, nil)
}

// Events lists the workspace's audit trail.
func (s *Service) Events(ctx context.Context, by identity.Actor, f event.Filter, q page.Query) (event.Page, error) {
	if err := event.MayRead(by); err != nil {
		return event.Page{}, err
	}
	return s.events.List(ctx, by.Workspace, f, q)
}

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
			ws, err = account.NewWorkspace(by, p.Workspace)
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
