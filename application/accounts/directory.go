package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Directory holds the use cases of the directory that manages an org's people by SCIM. by is the system.
type Directory struct {
	atomic     ports.Atomic
	users      ports.DirectoryUsers
	groups     ports.DirectoryGroups
	requests   ports.DirectoryRequests
	workspaces ports.Workspaces
	notes      ports.Notes
	mailer     ports.Mailer
	unfinished Unfinished
}

// Unfinished has a value if a request has left people to settle. A node's Directories share one.
type Unfinished chan struct{}

// NewDirectory returns the use cases on these stores.
func NewDirectory(
	atomic ports.Atomic, s ports.DirectoryStores, w ports.Workspaces, n ports.Notes, m ports.Mailer, u Unfinished,
) *Directory {
	return &Directory{atomic: atomic, users: s.DirectoryUsers, groups: s.DirectoryGroups,
		requests: s.DirectoryRequests, workspaces: w, notes: n, mailer: m, unfinished: u}
}

// Left returns the channel that has a value if a request has left people to settle.
func (s *Directory) Left() <-chan struct{} { return s.unfinished }

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
			previous := u.Address()
			if err = u.Return(by, org, p); err != nil {
				return err
			}
			if err = checkAddress(ctx, tx, by, u, previous); err != nil {
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
		return suspendByDirectory(ctx, tx, by, org, u.ID)
	})
	return u, err
}

// checkAddress returns account.ErrDirectoryAddressTaken if u has just got the address of another account. previous is
// the address that it had: a user that has long had such an address can still be changed otherwise.
func checkAddress(
	ctx context.Context, tx ports.Stores, by identity.Actor, u *account.DirectoryUser, previous string,
) error {
	address := u.Address()
	if address == "" || account.EmailKey(address) == account.EmailKey(previous) {
		return nil
	}
	owner, _, err := tx.Users.FindByEmail(ctx, by.Org, address)
	switch {
	case errors.Is(err, account.ErrUserNotFound):
		return nil
	case err == nil && owner.ID != u.ID:
		return account.ErrDirectoryAddressTaken
	}
	return err
}

// ChangeUser replaces the directory's data about a user with the result of change. Errors are as AddUser returns,
// account.ErrDirectoryAddressTaken and account.ErrDirectoryLastOperator.
func (s *Directory) ChangeUser(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.UserID,
	change func(*account.DirectoryUser) (account.DirectoryPerson, error),
) (u *account.DirectoryUser, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if u, err = tx.DirectoryUsers.User(ctx, by.Org, id); err != nil {
			return err
		}
		p, err := change(u)
		if err != nil {
			return err
		}
		wasActive, previous := u.Active, u.Address()
		if err := u.Change(by, org, p); err != nil {
			return err
		}
		if err := checkAddress(ctx, tx, by, u, previous); err != nil {
			return err
		}
		return s.follow(ctx, tx, by, org, u, wasActive)
	})
	return u, err
}

// RemoveUser disables a user's account, who is no longer in the directory, unless check refuses it.
func (s *Directory) RemoveUser(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.UserID,
	check func(*account.DirectoryUser) error,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		u, err := tx.DirectoryUsers.User(ctx, by.Org, id)
		if err != nil {
			return err
		}
		if err := check(u); err != nil {
			return err
		}
		wasActive := u.Active
		if wasActive { // before the roles end, and with them an operator's rights
			if err := tx.People.ChangeAccess(ctx, by, id, (*account.Access).MaySuspend); err != nil {
				return err
			}
		}
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
		return suspendByDirectory(ctx, tx, by, org, u.ID)
	}
	return nil
}

// Reasons in the audit trail.
const (
	enabledByDirectory  = "The directory activated the user."
	disabledByDirectory = "The directory deactivated or deleted the user."
)

// suspendByDirectory disables an account, and queues the mails about what that leaves without a person.
func suspendByDirectory(
	ctx context.Context, tx ports.Stores, by identity.Actor, org *identity.Org, id identity.UserID,
) error {
	var suspended *account.Access
	if err := tx.People.ChangeAccess(ctx, by, id, func(a *account.Access) error {
		suspended = a
		return a.Suspend(by, disabledByDirectory, org.SCIM.ServiceKeys)
	}); err != nil {
		return err
	}
	return queueDirectoryNotices(ctx, tx, by, suspended)
}

// signInByDirectory processes the directory's data about a user like an issuer token.
func signInByDirectory(
	ctx context.Context, users ports.Users, by identity.Actor, org *identity.Org, u *account.DirectoryUser,
) (*account.Person, error) {
	in := directorySignIn(org, u, time.Now()) // u was read after the request began
	return users.SignIn(ctx, by.Org, in, func(in *account.SignIn) error { return settleByDirectory(by, in) })
}

// directorySignIn returns the directory's data about a user as a sign-in at a time.
func directorySignIn(org *identity.Org, u *account.DirectoryUser, now time.Time) account.SignIn {
	open := *org
	open.SignUp = identity.SignUpOpen // the directory decides who gets an account
	return account.SignIn{Claims: u.Claims(now), Org: &open}
}

func settleByDirectory(by identity.Actor, in *account.SignIn) error {
	if err := in.Settle(by); err != nil {
		return err
	}
	if in.NotJoined != nil {
		return account.ErrDirectoryNotJoined
	}
	return nil
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
	return g, s.settleWithin(ctx, by, org)
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
	return g, s.settleWithin(ctx, by, org)
}

// RemoveGroup deletes a group, unless check refuses it.
func (s *Directory) RemoveGroup(
	ctx context.Context, by identity.Actor, org *identity.Org, id account.DirectoryGroupID,
	check func(*account.DirectoryGroup) error,
) error {
	if err := s.groups.DeleteGroup(ctx, by.Org, id, check); err != nil {
		return err
	}
	return s.settleWithin(ctx, by, org)
}
