package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Directory holds the use cases of the directory that manages an org's people by SCIM. by is the system.
type Directory struct {
	atomic ports.Atomic
	users  ports.DirectoryUsers
	groups ports.DirectoryGroups
}

// NewDirectory returns the use cases on these stores.
func NewDirectory(atomic ports.Atomic, s ports.DirectoryStores) *Directory {
	return &Directory{atomic: atomic, users: s.DirectoryUsers, groups: s.DirectoryGroups}
}

// settledAtOnce is the number of people that a group change settles in one round.
const settledAtOnce = 100

// User returns a user with the groups, or account.ErrDirectoryUserNotFound.
func (s *Directory) User(
	ctx context.Context, by identity.Actor, id identity.UserID,
) (*account.DirectoryUser, error) {
	return s.users.User(ctx, by.Org, id)
}

// Users lists users, and returns how many there are.
func (s *Directory) Users(
	ctx context.Context, by identity.Actor, q account.DirectoryQuery,
) ([]account.DirectoryUser, int, error) {
	return s.users.Users(ctx, by.Org, q)
}

// AddUser creates a user, and an account, or links the account that has the address. A user that the directory removed
// before returns to the same account. Errors are account.ErrDirectoryUserExists, account.ErrDirectoryNameTaken and
// account.ErrDirectoryNotJoined.
func (s *Directory) AddUser(
	ctx context.Context, by identity.Actor, org *identity.Org, p account.DirectoryPerson,
) (u *account.DirectoryUser, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		u, err = tx.DirectoryUsers.UserNamed(ctx, by.Org, p.UserName)
		if err == nil {
			if err = u.Return(by, org, p); err != nil {
				return err
			}
			return s.follow(ctx, tx, by, org, u, false)
		}
		if !errors.Is(err, account.ErrDirectoryUserNotFound) {
			return err
		}
		if u, err = account.NewDirectoryUser(by, org, p); err != nil {
			return err
		}
		person, err := signInByDirectory(ctx, tx.Users, by, org, u)
		if err != nil {
			return err
		}
		u.ID = person.User.ID
		if err = tx.DirectoryUsers.AddUser(ctx, by, u); err != nil || u.Active {
			return err
		}
		return disableByDirectory(ctx, tx, by, u.ID)
	})
	return u, err
}

// ChangeUser replaces the directory's data about a user with the result of change.
func (s *Directory) ChangeUser(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.UserID,
	change func(account.DirectoryPerson) (account.DirectoryPerson, error),
) (u *account.DirectoryUser, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if u, err = tx.DirectoryUsers.User(ctx, by.Org, id); err != nil {
			return err
		}
		p, err := change(u.DirectoryPerson)
		if err != nil {
			return err
		}
		wasActive := u.Active
		if err := u.Change(by, org, p); err != nil {
			return err
		}
		return s.follow(ctx, tx, by, org, u, wasActive)
	})
	return u, err
}

// RemoveUser disables a user's account, who is no longer in the directory.
func (s *Directory) RemoveUser(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.UserID,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		u, err := tx.DirectoryUsers.User(ctx, by.Org, id)
		if err != nil {
			return err
		}
		wasActive := u.Active
		u.Remove(by)
		return s.follow(ctx, tx, by, org, u, wasActive)
	})
}

// follow saves a user that has changed, and makes the account follow: wasActive is what Active was. An account that an
// operator has disabled stays so until the directory deactivates and activates the user.
func (s *Directory) follow(
	ctx context.Context, tx ports.Stores, by identity.Actor, org *identity.Org, u *account.DirectoryUser,
	wasActive bool,
) error {
	if err := tx.DirectoryUsers.SaveUser(ctx, by, u); err != nil {
		return err
	}
	if u.Active && !wasActive {
		if err := tx.People.ChangeAccess(ctx, by, u.ID, func(a *account.Access) error {
			return a.Enable(by, enabledByDirectory)
		}); err != nil {
			return err
		}
	}
	if u.Active || (wasActive && !u.RemovedAt.IsZero()) { // a deactivated user keeps the roles for later
		_, err := signInByDirectory(ctx, tx.Users, by, org, u)
		if err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
			return err
		}
	}
	if wasActive && !u.Active {
		return disableByDirectory(ctx, tx, by, u.ID)
	}
	return nil
}

// Reasons in the audit trail.
const (
	enabledByDirectory  = "The directory activated the user."
	disabledByDirectory = "The directory deactivated or deleted the user."
)

func disableByDirectory(ctx context.Context, tx ports.Stores, by identity.Actor, id identity.UserID) error {
	return tx.People.ChangeAccess(ctx, by, id, func(a *account.Access) error {
		return a.Suspend(by, disabledByDirectory)
	})
}

// signInByDirectory processes the directory's data about a user like an issuer token.
func signInByDirectory(
	ctx context.Context, users ports.Users, by identity.Actor, org *identity.Org, u *account.DirectoryUser,
) (*account.Person, error) {
	open := *org
	open.SignUp = identity.SignUpOpen // the directory decides who gets an account
	in := account.SignIn{Claims: u.Claims(by.At), Org: &open}
	return users.SignIn(ctx, by.Org, in, func(in *account.SignIn) error {
		if err := in.Settle(by); err != nil {
			return err
		}
		if in.NotJoined != nil {
			return account.ErrDirectoryNotJoined
		}
		return nil
	})
}

// Group returns a group with its people, or account.ErrDirectoryGroupNotFound.
func (s *Directory) Group(
	ctx context.Context, by identity.Actor, id account.DirectoryGroupID,
) (*account.DirectoryGroup, error) {
	return s.groups.Group(ctx, by.Org, id)
}

// Groups lists groups without their people, and returns how many there are.
func (s *Directory) Groups(
	ctx context.Context, by identity.Actor, q account.DirectoryQuery,
) ([]account.DirectoryGroup, int, error) {
	return s.groups.Groups(ctx, by.Org, q)
}

// AddGroup creates a group.
func (s *Directory) AddGroup(
	ctx context.Context, by identity.Actor, org *identity.Org, name, external string, people []identity.UserID,
) (*account.DirectoryGroup, error) {
	g, err := account.NewDirectoryGroup(by, name, external, people)
	if err != nil {
		return nil, err
	}
	if err := s.groups.AddGroup(ctx, by, g); err != nil {
		return nil, err
	}
	return g, s.Settle(ctx, by, org)
}

// ChangeGroup replaces a group with the result of change.
func (s *Directory) ChangeGroup(
	ctx context.Context, by identity.Actor, org *identity.Org, id account.DirectoryGroupID,
	change func(*account.DirectoryGroup) error,
) (*account.DirectoryGroup, error) {
	g, err := s.groups.UpdateGroup(ctx, by.Org, id, change)
	if err != nil {
		return nil, err
	}
	return g, s.Settle(ctx, by, org)
}

// RemoveGroup deletes a group.
func (s *Directory) RemoveGroup(
	ctx context.Context, by identity.Actor, org *identity.Org, id account.DirectoryGroupID,
) error {
	if err := s.groups.DeleteGroup(ctx, by.Org, id); err != nil {
		return err
	}
	return s.Settle(ctx, by, org)
}

// Settle updates the roles of everyone whose groups have changed, and of everyone if the claim rules have changed. It
// also completes an interrupted call's work.
func (s *Directory) Settle(ctx context.Context, by identity.Actor, org *identity.Org) error {
	rules := account.DirectoryRules(org)
	for {
		batch, err := s.users.Unsettled(ctx, by.Org, rules, settledAtOnce)
		if err != nil {
			return err
		}
		var failure error
		budget := 0
		for i := range batch {
			if err := s.settle(ctx, by, org, batch[i].ID, rules); err != nil {
				failure, budget = err, budget+1
			}
		}
		if len(batch) < settledAtOnce || budget == len(batch) {
			return failure
		}
	}
}

// settle gives a user the roles that follow from the groups. The user is read again: the account may have been erased
// in the meantime, and must not come back.
func (s *Directory) settle(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.UserID, rules string,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		u, err := tx.DirectoryUsers.User(ctx, by.Org, id)
		if errors.Is(err, account.ErrDirectoryUserNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = signInByDirectory(ctx, tx.Users, by, org, u)
		if err != nil && !errors.Is(err, identity.ErrUnauthenticated) { // an operator has disabled the account
			return err
		}
		return tx.DirectoryUsers.Settle(ctx, by, u, rules)
	})
}
