package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Users stores users and their memberships.
type Users struct{ db *Store }

var _ ports.Users = (*Users)(nil)

// Add implements ports.Users.
func (s *Users) Add(ctx context.Context, u *account.User) error {
	return s.db.inTx(ctx, func(tx *Store) error { return tx.addUser(ctx, u) })
}

// addUser returns account.ErrEmailTaken if another user of the org has the address.
func (store *Store) addUser(ctx context.Context, u *account.User) error {
	key := account.EmailKey(u.Email)
	var other string
	if found, err := store.Get(ctx, &other, `SELECT id FROM users WHERE org_id = ? AND email_key = ? AND email_key <> ''`,
		u.Org, key); err != nil || found {
		if found {
			return account.ErrEmailTaken
		}
		return err
	}
	_, err := store.Exec(ctx, `
		INSERT INTO users (id, org_id, email, email_key, email_verified, email_verified_by, name, service, operator,
		operator_by_hand, operator_by, default_workspace_id,
			revision, words_revision, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		u.ID, u.Org, u.Email, key, u.EmailVerified, u.EmailVerifiedBy, u.Name, u.Service, u.Operator, u.OperatorByHand,
		db.Granters(u.OperatorBy), u.DefaultWorkspace,
		u.Revision, u.Revision, db.Micros(u.CreatedAt), db.Micros(u.UpdatedAt))
	if store.Dialect.Duplicate(err, "users_email") {
		return account.ErrEmailTaken
	}
	if err != nil {
		return err
	}
	store.Forget() // SignIn must not cache that its claims were settled without a change
	if err := store.saveWords(ctx, u); err != nil {
		return err
	}
	return store.Record(ctx, u.RecordedAt(u.Revision, string(u.ID)))
}

// SaveUser writes a user that recorded an event.
func (store *Store) SaveUser(ctx context.Context, u *account.User) error {
	if len(u.Recorded()) == 0 {
		return nil
	}
	if _, err := store.Exec(ctx, `
		UPDATE users SET email = ?, email_key = ?, email_verified = ?, email_verified_by = ?, name = ?, operator = ?,
		operator_by_hand = ?, operator_by = ?, disabled_at = ?, erased_at = ?,
			default_workspace_id = ?, revision = ?, words_revision = ?, updated_at = ? WHERE org_id = ? AND id = ?`,
		u.Email, account.EmailKey(u.Email), u.EmailVerified, u.EmailVerifiedBy, u.Name, u.Operator, u.OperatorByHand,
		db.Granters(u.OperatorBy), db.Micros(u.DisabledAt), db.Micros(u.ErasedAt), u.DefaultWorkspace, u.Revision,
		u.Revision, db.Micros(u.UpdatedAt), u.Org, u.ID); err != nil {
		return err
	}
	store.Forget()
	if err := store.saveWords(ctx, u); err != nil {
		return err
	}
	return store.Record(ctx, u.RecordedAt(u.Revision, string(u.ID)))
}

// Get implements ports.Users.
func (s *Users) Get(
	ctx context.Context, org identity.OrgID, id identity.UserID,
) (*account.User, []account.Membership, error) {
	return userOf(s.db.Person(ctx, org, id))
}

// FindByEmail implements ports.Users.
func (s *Users) FindByEmail(
	ctx context.Context, org identity.OrgID, email string,
) (*account.User, []account.Membership, error) {
	return userOf(s.db.personByEmail(ctx, org, email))
}

func userOf(p *account.Person, err error) (*account.User, []account.Membership, error) {
	if err != nil {
		return nil, nil, err
	}
	return &p.User, p.Memberships, nil
}

// Member implements ports.Users.
func (s *Users) Member(
	ctx context.Context, ws identity.WorkspaceID, id identity.UserID, email string,
) (identity.UserID, error) {
	condition, arg := `u.id = ?`, any(id)
	if id == "" {
		condition, arg = `u.email_key = ? AND u.email_key <> ''`, account.EmailKey(email)
	}
	var found identity.UserID
	_, err := s.db.Get(ctx, &found, `SELECT u.id FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = ? AND `+condition, ws, arg)
	return found, err
}

// Update implements ports.Users.
func (s *Users) Update(ctx context.Context, org identity.OrgID, id identity.UserID,
	change func(*account.User, []account.Membership) error) (*account.User, error) {
	var p *account.Person
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		if p, err = tx.lockedPerson(ctx, org, id); err != nil {
			return err
		}
		if err := change(&p.User, p.Memberships); err != nil {
			return err
		}
		return tx.SaveUser(ctx, &p.User)
	})
	if err != nil {
		return nil, err
	}
	return &p.User, nil
}

// Person returns a user with the memberships in workspaces that are not deleted, or account.ErrUserNotFound.
func (store *Store) Person(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.Person, error) {
	return store.findPerson(ctx, `t.org_id = ? AND t.id = ?`, org, id)
}

// lockedPerson is Person for a user who is about to change.
func (store *Store) lockedPerson(
	ctx context.Context, org identity.OrgID, id identity.UserID,
) (*account.Person, error) {
	return store.findPerson(ctx, `t.org_id = ? AND t.id = ?`+store.Dialect.Lock, org, id)
}

const withEmail = `t.org_id = ? AND t.email_key = ? AND t.email_key <> ''`

// personByEmail is Person for the user with an address.
func (store *Store) personByEmail(ctx context.Context, org identity.OrgID, email string) (*account.Person, error) {
	return store.findPerson(ctx, withEmail, org, account.EmailKey(email))
}

// lockedPersonByEmail is personByEmail for a user who is about to change.
func (store *Store) lockedPersonByEmail(
	ctx context.Context, org identity.OrgID, email string,
) (*account.Person, error) {
	return store.findPerson(ctx, withEmail+store.Dialect.Lock, org, account.EmailKey(email))
}

// findPerson returns the user that the condition selects, with the memberships of existing workspaces in its org. It
// returns account.ErrUserNotFound.
func (store *Store) findPerson(ctx context.Context, condition string, args ...any) (*account.Person, error) {
	var row userRow
	found, err := store.Get(ctx, &row, `SELECT `+userColumns+` FROM users t WHERE `+condition, args...)
	if err == nil && !found {
		err = account.ErrUserNotFound
	}
	if err != nil {
		return nil, err
	}
	var rows []membershipRow
	if err := store.List(ctx, &rows, `
		SELECT `+membershipColumns+` FROM memberships m JOIN workspaces t ON t.id = m.workspace_id
		WHERE m.user_id = ? AND t.org_id = ? AND t.deleted_at = 0 ORDER BY t.id`, row.ID, row.Org); err != nil {
		return nil, err
	}
	return &account.Person{User: row.user(), Memberships: db.Convert(rows, (*membershipRow).membership)}, nil
}
