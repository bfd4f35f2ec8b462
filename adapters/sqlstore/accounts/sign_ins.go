package accounts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// SignedIn implements ports.Users.
func (s *Users) SignedIn(ctx context.Context, org identity.OrgID, issuer, subject string) (*account.Person, error) {
	read := func() (*account.Person, error) {
		return s.db.forCredentials().personBySubject(ctx, org, issuer, subject)
	}
	if s.db.IsTransaction() {
		return read()
	}
	return s.db.SignIns.Get(ctx, db.SignInKey{Org: org, Issuer: issuer, Subject: subject}, read)
}

// personBySubject returns the person that a subject is linked to, with the time when the newest token that was settled
// for it was issued, or account.ErrUserNotFound.
func (store *Store) personBySubject(
	ctx context.Context, org identity.OrgID, issuer, subject string,
) (*account.Person, error) {
	return store.linkedPerson(ctx, org, issuer, subject, "", store.Person)
}

// lockedPersonBySubject is personBySubject for a person who is about to change. The link is locked before any user, so
// that no other transaction moves it or settles a newer token.
func (store *Store) lockedPersonBySubject(
	ctx context.Context, org identity.OrgID, issuer, subject string,
) (*account.Person, error) {
	return store.linkedPerson(ctx, org, issuer, subject, store.Dialect.Lock, store.lockedPerson)
}

// linkedPerson finds the link of a subject, and reads its user with read.
func (store *Store) linkedPerson(
	ctx context.Context, org identity.OrgID, issuer, subject, lock string,
	read func(context.Context, identity.OrgID, identity.UserID) (*account.Person, error),
) (*account.Person, error) {
	var link struct {
		User     identity.UserID `db:"user_id"`
		IssuedAt int64           `db:"issued_at"`
	}
	found, err := store.Get(ctx, &link, `SELECT t.user_id, t.issued_at FROM sign_ins t WHERE t.org_id = ? AND t.issuer = ?
		AND t.subject = ?`+lock, org, issuer, subject)
	if err == nil && !found {
		err = account.ErrUserNotFound
	}
	if err != nil {
		return nil, err
	}
	p, err := read(ctx, org, link.User)
	if err != nil {
		return nil, err
	}
	p.IssuedAt = db.FromMicros(link.IssuedAt)
	return p, nil
}

// SignIn implements ports.Users.
func (s *Users) SignIn(ctx context.Context, org identity.OrgID, in account.SignIn,
	settle func(*account.SignIn) error) (*account.Person, error) {
	cacheKey := db.SignInKey{Org: org, Issuer: in.Claims.Issuer, Subject: in.Claims.Subject}
	_, _, era := s.db.SignIns.Recall(cacheKey)
	start := time.Now()
	var p *account.Person
	err := s.db.inTx(ctx, func(tx *Store) error {
		try := in
		if err := tx.loadSignIn(ctx, org, &try); err != nil {
			return err
		}
		if err := settle(&try); err != nil {
			return err
		}
		if err := tx.saveSignIn(ctx, org, &try); err != nil {
			return err
		}
		var err error
		if p, err = tx.Person(ctx, org, try.User.ID); err != nil {
			return err
		}
		p.IssuedAt = try.IssuedAt
		return nil
	})
	if err == nil && !s.db.IsTransaction() {
		person := *p
		person.LastSettled = &in.Claims
		// It is ignored if the sign-in changed anything: that starts a new era.
		s.db.SignIns.Remember(cacheKey, &person, era, start)
	}
	return p, err
}

// loadSignIn reads and locks everything on which the settlement of a sign-in depends: first the link, then users, then
// workspaces, each in one order for all sign-ins.
func (store *Store) loadSignIn(ctx context.Context, org identity.OrgID, s *account.SignIn) error {
	s.MemberOf = map[identity.UserID][]identity.WorkspaceID{}
	names := map[string]bool{}
	for _, r := range s.Org.ClaimRules {
		names[r.Workspace] = true
	}
	linked, err := unlessMissing(store.lockedPersonBySubject(ctx, org, s.Claims.Issuer, s.Claims.Subject))
	if err != nil {
		return err
	}
	if linked != nil {
		s.IssuedAt, s.Linked = linked.IssuedAt, matchingUser(linked, s, names)
	}
	if s.Linked == nil {
		if s.ErasedAt, err = store.erasedSignIn(ctx, org, s.Claims.Issuer, s.Claims.Subject); err != nil {
			return err
		}
	}
	if email := s.Email(); email != "" {
		owner, err := unlessMissing(store.lockedPersonByEmail(ctx, org, email))
		if err != nil {
			return err
		}
		if owner != nil {
			s.ByEmail = matchingUser(owner, s, names)
		}
		if s.Linked == nil {
			if s.Invitations, err = store.pending(ctx, org, email); err != nil {
				return err
			}
		}
	}
	if s.ByEmail != nil { // it is locked, so no other transaction links it
		var subject string
		if s.HasSubject, err = store.Get(ctx, &subject,
			`SELECT subject FROM sign_ins WHERE org_id = ? AND issuer = ? AND user_id = ? AND subject <> ? LIMIT 1`,
			org, s.Claims.Issuer, s.ByEmail.ID, s.Claims.Subject); err != nil {
			return err
		}
	}
	following, err := store.followingGroups(ctx, org, s, names)
	if err != nil {
		return err
	}
	users := slices.Sorted(maps.Keys(s.MemberOf))
	s.Workspaces = map[string]*account.Workspace{}
	for _, slug := range slices.Sorted(maps.Keys(names)) { // locks are taken in one order
		w, err := store.lockedWorkspaceBySlug(ctx, org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := store.loadMembers(ctx, w, users...); err != nil {
			return err
		}
		if err := store.LoadPowers(ctx, w, users...); err != nil {
			return err
		}
		s.Workspaces[slug] = w
		for _, id := range following[w.ID] {
			g, err := store.group(ctx, w.ID, id)
			if err != nil {
				return err
			}
			if err := store.loadGroupPeople(ctx, w, g, users); err != nil {
				return err
			}
			s.Groups = append(s.Groups, g)
		}
	}
	return nil
}

// unlessMissing returns nil instead of account.ErrUserNotFound.
func unlessMissing(p *account.Person, err error) (*account.Person, error) {
	if errors.Is(err, account.ErrUserNotFound) {
		return nil, nil
	}
	return p, err
}

// matchingUser returns the user that claims match. It adds the user's memberships to s, and the slugs of the workspaces
// where a rule has raised the user's role to names.
func matchingUser(p *account.Person, s *account.SignIn, names map[string]bool) *account.User {
	id := p.User.ID
	s.MemberOf[id] = nil
	for _, m := range p.Memberships {
		s.MemberOf[id] = append(s.MemberOf[id], m.Workspace.ID)
		if m.Role > m.ByHand {
			names[m.Workspace.Slug] = true
		}
	}
	return &p.User
}

// saveSignIn writes what the settlement changed. It returns db.ErrRaced if another transaction took the address or the
// link first.
func (store *Store) saveSignIn(ctx context.Context, org identity.OrgID, s *account.SignIn) error {
	if s.Yielding != nil {
		if err := store.SaveUser(ctx, s.Yielding); err != nil {
			return err
		}
	}
	save := store.SaveUser
	if s.IsNew {
		save = store.addUser
	}
	if err := save(ctx, s.User); err != nil {
		if errors.Is(err, account.ErrEmailTaken) || store.Dialect.Duplicate(err, "users_email") {
			return db.ErrRaced
		}
		return err
	}
	if s.Link {
		count, err := store.Exec(ctx, `INSERT INTO sign_ins (org_id, issuer, subject, user_id, issued_at, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, issuer, subject) DO NOTHING`,
			org, s.Claims.Issuer, s.Claims.Subject, s.User.ID, db.Micros(s.IssuedAt), db.Micros(s.User.UpdatedAt))
		if err != nil {
			return err
		}
		if count == 0 {
			return db.ErrRaced
		}
	} else if _, err := store.Exec(ctx,
		`UPDATE sign_ins SET issued_at = ? WHERE org_id = ? AND issuer = ? AND subject = ? AND issued_at < ?`,
		db.Micros(s.IssuedAt), org, s.Claims.Issuer, s.Claims.Subject, db.Micros(s.IssuedAt)); err != nil {
		return err
	}
	for _, w := range s.Workspaces {
		if err := store.SaveWorkspace(ctx, w); err != nil {
			return err
		}
	}
	if err := store.saveFollowing(ctx, s); err != nil {
		return err
	}
	if s.PersonalWorkspace != nil {
		return store.addWorkspace(ctx, s.PersonalWorkspace)
	}
	return nil
}

// Link implements ports.Users. It locks users in the order of SignIn.
func (s *Users) Link(ctx context.Context, by identity.Actor, email, issuer, subject string,
	change func(to, from *account.Person) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		from, err := unlessMissing(tx.lockedPersonBySubject(ctx, by.Org, issuer, subject))
		if err != nil {
			return err
		}
		recipient, err := tx.lockedPersonByEmail(ctx, by.Org, email)
		if err != nil {
			return err
		}
		if err := change(recipient, from); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO sign_ins (org_id, issuer, subject, user_id, issued_at, created_at) VALUES (?, ?, ?, ?, 0, ?)
			ON CONFLICT (org_id, issuer, subject) DO UPDATE
			SET user_id = excluded.user_id`, by.Org, issuer, subject, recipient.User.ID, db.Micros(by.At)); err != nil {
			return err
		}
		if from != nil {
			if err := tx.SaveUser(ctx, &from.User); err != nil {
				return err
			}
		}
		return tx.SaveUser(ctx, &recipient.User)
	})
}
