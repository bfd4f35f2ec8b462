package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// AddLink implements ports.Sessions.
func (s *Sessions) AddLink(ctx context.Context, l *account.SignInLink) error {
	_, err := s.db.exec(ctx,
		`INSERT INTO sign_in_links (hash, org_id, user_id, created_at, expires_at, issuer, subject, provider_session,
			bound_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.Hash[:], l.Org, l.User, micros(l.CreatedAt), micros(l.ExpiresAt), l.From.Issuer, l.From.Subject, l.From.ID,
		boundHash(l))
	return err
}

// TakeLink implements ports.Sessions.
func (s *Sessions) TakeLink(
	ctx context.Context, org identity.OrgID, h account.Hash, now time.Time,
) (*account.SignInLink, error) {
	var row struct {
		User      identity.UserID `db:"user_id"`
		CreatedAt int64           `db:"created_at"`
		ExpiresAt int64           `db:"expires_at"`
		Issuer    string          `db:"issuer"`
		Subject   string          `db:"subject"`
		Provider  string          `db:"provider_session"`
		Bound     []byte          `db:"bound_hash"`
	}
	var found bool
	err := s.db.inTx(ctx, func(tx *DB) (err error) {
		found, err = tx.get(ctx, &row, `DELETE FROM sign_in_links WHERE hash = ? AND org_id = ?
			RETURNING user_id, created_at, expires_at, issuer, subject, provider_session, bound_hash`, h[:], org)
		return err
	})
	if err == nil && (!found || !now.Before(fromMicros(row.ExpiresAt))) {
		err = account.ErrLinkInvalid
	}
	if err != nil {
		return nil, err
	}
	l := &account.SignInLink{
		Org: org, User: row.User, Hash: h, CreatedAt: fromMicros(row.CreatedAt), ExpiresAt: fromMicros(row.ExpiresAt),
		From: account.ProviderSession{Issuer: row.Issuer, Subject: row.Subject, ID: row.Provider},
	}
	copy(l.Bound[:], row.Bound)
	return l, nil
}

// boundHash returns the stored form of SignInLink.Bound.
func boundHash(l *account.SignInLink) []byte {
	if l.Bound == (account.Hash{}) {
		return []byte{}
	}
	return l.Bound[:]
}

// MailLink implements ports.Sessions. Links are counted like mails about invitations, in a scope of their own.
func (s *Sessions) MailLink(
	ctx context.Context, by identity.Actor, email string,
	change func(*account.User, []time.Time) (*account.SignInLink, error),
) error {
	return s.db.inTx(ctx, func(tx *DB) error {
		u, _, err := tx.user(ctx, `t.org_id = ? AND t.email_key = ? AND t.email_key <> ''`, by.Org,
			account.EmailKey(email))
		if err != nil {
			return err
		}
		scope := "sign-in " + string(by.Org) + " " + account.Mailbox(email)
		mailed, err := tx.lockMailTimes(ctx, scope, by.At)
		if err != nil {
			return err
		}
		mailed = slices.DeleteFunc(mailed, func(at time.Time) bool { return by.At.Sub(at) >= mailsKept })
		l, err := change(u, mailed)
		if err != nil || l == nil {
			return err
		}
		if err := (&Sessions{tx}).AddLink(ctx, l); err != nil {
			return err
		}
		return tx.saveMailTimes(ctx, scope, append(mailed, by.At))
	})
}
