package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// signInKey always holds the tenant.
type signInKey struct {
	org             identity.OrgID
	issuer, subject string
}

// SignedIn implements ports.Users.
func (s *Users) SignedIn(ctx context.Context, org identity.OrgID, issuer, subject string) (*account.Person, error) {
	cacheKey := signInKey{org, issuer, subject}
	known, ok, era := s.db.signIns.recall(cacheKey)
	if ok && s.db.tx == nil {
		return known, nil
	}
	u, memberships, err := s.db.user(ctx, `t.id = (SELECT s.user_id FROM sign_ins s WHERE s.org_id = ? AND s.issuer = ? AND s.subject = ?)`, org, issuer, subject)
	if err != nil {
		return nil, err
	}
	p := &account.Person{User: *u, Memberships: memberships}
	if s.db.tx == nil {
		s.db.signIns.remember(cacheKey, p, era)
	}
	return p, nil
}

// errRaced says that another transaction linked the same subject, or took the same address, first.
var errRaced = errors.New("another sign-in was faster")

// SignIn implements ports.Users.
func (s *Users) SignIn(ctx context.Context, org identity.OrgID, in account.SignIn, settle func(*account.SignIn) error) (*account.Person, error) {
	cacheKey := signInKey{org, in.Claims.Issuer, in.Claims.Subject}
	_, _, era := s.db.signIns.recall(cacheKey)
	var p *account.Person
	err := s.db.inTx(ctx, func(tx *DB) error {
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
		u, memberships, err := tx.user(ctx, `t.org_id = ? AND t.id = ?`, org, try.User.ID)
		if err != nil {
			return err
		}
		p = &account.Person{User: *u, Memberships: memberships}
		return nil
	})
	if err == nil && s.db.tx == nil {
		met := *p
		met.Met = &in.Claims
		s.db.signIns.remember(cacheKey, &met, era) // unless that changed anything, which begins another era
	}
	return p, err
}

func (db *DB) loadSignIn(ctx context.Context, org identity.OrgID, s *account.SignIn) (err error) {
	s.In = map[identity.UserID][]identity.WorkspaceID{}
	if s.Linked, err = db.met(ctx, s, `t.id = (SELECT s.user_id FROM sign_ins s WHERE s.org_id = ? AND s.issuer = ? AND s.subject = ?)`,
		org, s.Claims.Issuer, s.Claims.Subject); err != nil {
		return err
	}
	if s.Claims.EmailVerified {
		if s.ByEmail, err = db.met(ctx, s, `t.org_id = ? AND t.email_key = ? AND t.email_key <> ''`, org, account.EmailKey(s.Claims.Email)); err != nil {
			return err
		}
	}
	users := slices.Sorted(maps.Keys(s.In))
	var slugs []string
	for _, r := range s.Rules {
		slugs = append(slugs, r.Workspace)
	}
	slices.Sort(slugs) // locks are taken in one order
	s.Workspaces = map[string]*account.Workspace{}
	for _, slug := range slices.Compact(slugs) {
		w, err := db.workspace(ctx, `t.org_id = ? AND t.slug = ? AND t.deleted_at = 0`+db.dialect.lock, org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := db.loadMembers(ctx, w, users...); err != nil {
			return err
		}
		if err := db.loadKeys(ctx, w, users...); err != nil {
			return err
		}
		s.Workspaces[slug] = w
	}
	return nil
}

// met reads an account that claims meet, nil if there is none, and notes where it is a member.
func (db *DB) met(ctx context.Context, s *account.SignIn, where string, args ...any) (*account.User, error) {
	u, memberships, err := db.user(ctx, where+db.dialect.lock, args...)
	if errors.Is(err, account.ErrUserNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.In[u.ID] = nil
	for _, m := range memberships {
		s.In[u.ID] = append(s.In[u.ID], m.Workspace.ID)
	}
	return u, nil
}

func (db *DB) saveSignIn(ctx context.Context, org identity.OrgID, s *account.SignIn) error {
	save := db.saveUser
	if s.Fresh {
		save = db.addUser
	}
	if err := save(ctx, s.User); err != nil {
		if errors.Is(err, account.ErrEmailTaken) || db.dialect.duplicate(err, "users_email") {
			return errRaced
		}
		return err
	}
	if s.Link {
		linked, err := db.exec(ctx, `INSERT INTO sign_ins (org_id, issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (org_id, issuer, subject) DO NOTHING`,
			org, s.Claims.Issuer, s.Claims.Subject, s.User.ID, micros(s.User.UpdatedAt))
		if err != nil {
			return err
		}
		if linked == 0 {
			return errRaced
		}
	}
	for _, w := range s.Workspaces {
		if err := db.saveWorkspace(ctx, w); err != nil {
			return err
		}
	}
	if s.Own != nil {
		return db.addWorkspace(ctx, s.Own)
	}
	return nil
}
