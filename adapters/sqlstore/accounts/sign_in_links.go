package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// AddLink implements ports.Sessions.
func (s *Sessions) AddLink(ctx context.Context, l *session.Link) error {
	_, err := s.db.Exec(ctx,
		`INSERT INTO sign_in_links (hash, org_id, user_id, created_at, expires_at, issuer, subject, provider_session,
			bound_hash, mailed, second_factor, authenticated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.Hash[:], l.Org, l.User, db.Micros(l.CreatedAt), db.Micros(l.ExpiresAt), l.From.Issuer, l.From.Subject,
		l.From.ID, boundHash(l), l.Mailed, l.From.SecondFactor, db.Micros(l.From.AuthenticatedAt))
	return err
}

// TakeLink implements ports.Sessions.
func (s *Sessions) TakeLink(
	ctx context.Context, org identity.OrgID, h account.Hash, now time.Time,
) (*session.Link, error) {
	var row struct {
		User      identity.UserID `db:"user_id"`
		CreatedAt int64           `db:"created_at"`
		ExpiresAt int64           `db:"expires_at"`
		Issuer    string          `db:"issuer"`
		Subject   string          `db:"subject"`
		Provider  string          `db:"provider_session"`
		Bound     []byte          `db:"bound_hash"`
		Mailed    bool            `db:"mailed"`

		SecondFactor    bool  `db:"second_factor"`
		AuthenticatedAt int64 `db:"authenticated_at"`
	}
	var found bool
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		found, err = tx.Get(ctx, &row, `DELETE FROM sign_in_links WHERE hash = ? AND org_id = ?
			RETURNING user_id, created_at, expires_at, issuer, subject, provider_session, bound_hash, mailed,
				second_factor, authenticated_at`, h[:], org)
		if err != nil || !row.Mailed {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM sign_in_links WHERE user_id = ? AND mailed`, row.User)
		return err
	})
	if err == nil && (!found || !now.Before(db.FromMicros(row.ExpiresAt))) {
		err = session.ErrLinkInvalid
	}
	if err != nil {
		return nil, err
	}
	l := &session.Link{
		Org: org, User: row.User, Hash: h, CreatedAt: db.FromMicros(row.CreatedAt),
		ExpiresAt: db.FromMicros(row.ExpiresAt),
		From: session.ProviderSession{
			Issuer: row.Issuer, Subject: row.Subject, ID: row.Provider, SecondFactor: row.SecondFactor,
			AuthenticatedAt: db.FromMicros(row.AuthenticatedAt),
		},
		Mailed: row.Mailed,
	}
	copy(l.Bound[:], row.Bound)
	return l, nil
}

// LinkUser implements ports.Sessions.
func (s *Sessions) LinkUser(
	ctx context.Context, org identity.OrgID, h account.Hash, now time.Time,
) (user identity.UserID, err error) {
	found, err := s.db.forCredentials().Get(ctx, &user, `SELECT user_id FROM sign_in_links
		WHERE hash = ? AND org_id = ? AND expires_at > ? AND issuer = ''`, h[:], org, db.Micros(now))
	if err == nil && !found {
		err = session.ErrLinkInvalid
	}
	return user, err
}

// boundHash returns the stored form of session.Link.Bound.
func boundHash(l *session.Link) []byte {
	if l.Bound == (account.Hash{}) {
		return []byte{}
	}
	return l.Bound[:]
}

// MailLink implements ports.Sessions. The mails are counted in the table of invitation mails, in their own scope.
func (s *Sessions) MailLink(
	ctx context.Context, by identity.Actor, email string,
	change func(*account.User, session.LinkMails) (*session.Link, error),
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		p, err := tx.personByEmail(ctx, by.Org, email)
		if err != nil {
			return err
		}
		scope := linkScope(by.Org, email)
		var mails []linkMail
		if err := tx.lockMailed(ctx, scope, by.At, &mails); err != nil {
			return err
		}
		mails = slices.DeleteFunc(mails, func(m linkMail) bool { return by.At.Sub(db.FromMicros(m.At)) >= mailsKept })
		var previous session.LinkMails
		for _, m := range mails {
			previous.Sent = append(previous.Sent, session.LinkMail{At: db.FromMicros(m.At), From: m.From})
		}
		if _, err := tx.Get(ctx, &previous.Usable, `SELECT EXISTS (SELECT 1 FROM sign_in_links
			WHERE user_id = ? AND mailed AND expires_at > ?)`, p.User.ID, db.Micros(by.At)); err != nil {
			return err
		}
		l, err := change(&p.User, previous)
		if err != nil || l == nil {
			return err
		}
		if err := (&Sessions{tx}).AddLink(ctx, l); err != nil {
			return err
		}
		return tx.saveMailed(
			ctx,
			scope,
			append(mails, linkMail{db.Micros(by.At), identity.AddressGroup(by.Request.Address)}),
		)
	})
}

// linkMail is the stored form of session.LinkMail.
type linkMail struct {
	At   int64  `json:"at"`
	From string `json:"from"`
}

// linkScope returns the scope in which sign-in links that are mailed to an address are counted.
func linkScope(org identity.OrgID, email string) string {
	return "links " + string(org) + " " + account.Mailbox(email)
}
