package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Tickets stores tickets until they are used.
type Tickets struct{ db *Store }

var _ ports.Tickets = (*Tickets)(nil)

// Add implements ports.Tickets.
func (s *Tickets) Add(ctx context.Context, t session.Ticket) error {
	_, err := s.db.Exec(ctx, `INSERT INTO stream_tickets (hash, org_id, key_hash, session_hash, issuer, subject, until,
			expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.Hash[:], t.Org, t.Proof.Key[:], t.Proof.Session[:], t.Proof.Issuer, t.Proof.Subject, db.Micros(t.Proof.Until),
		db.Micros(t.ExpiresAt))
	return err
}

// proofRow is a ticket without its hash and org.
type proofRow struct {
	Key       []byte `db:"key_hash"`
	Session   []byte `db:"session_hash"`
	Issuer    string `db:"issuer"`
	Subject   string `db:"subject"`
	Until     int64  `db:"until"`
	ExpiresAt int64  `db:"expires_at"`
}

const proofColumns = `key_hash, session_hash, issuer, subject, until, expires_at`

func (r *proofRow) ticket(org identity.OrgID, h account.Hash) *session.Ticket {
	p := session.Proof{Issuer: r.Issuer, Subject: r.Subject, Until: db.FromMicros(r.Until)}
	copy(p.Key[:], r.Key)
	copy(p.Session[:], r.Session) // empty if an older node issued the ticket
	return &session.Ticket{Org: org, Hash: h, ExpiresAt: db.FromMicros(r.ExpiresAt), Proof: p}
}

// Take implements ports.Tickets.
func (s *Tickets) Take(
	ctx context.Context, org identity.OrgID, h account.Hash, now time.Time,
) (*session.Ticket, error) {
	var row proofRow
	err := s.db.inTx(ctx, func(tx *Store) error {
		found, err := tx.Get(ctx, &row,
			`DELETE FROM stream_tickets WHERE hash = ? AND org_id = ? RETURNING `+proofColumns, h[:], org)
		if err != nil {
			return err
		}
		if !found || !now.Before(db.FromMicros(row.ExpiresAt)) {
			return identity.ErrUnauthenticated
		}
		_, err = tx.Exec(ctx,
			`INSERT INTO stream_resumptions (hash, org_id, `+proofColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			h[:], org, row.Key, row.Session, row.Issuer, row.Subject, row.Until,
			db.Micros(now.Add(session.ResumeWithin)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return row.ticket(org, h), nil
}

// Resume implements ports.Tickets.
func (s *Tickets) Resume(
	ctx context.Context, org identity.OrgID, h account.Hash, now time.Time,
) (*session.Ticket, error) {
	var row proofRow
	var found bool
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		found, err = tx.Get(ctx, &row, `
			UPDATE stream_resumptions SET expires_at = ? WHERE hash = ? AND org_id = ? AND expires_at > ?
			RETURNING `+proofColumns, db.Micros(now.Add(session.ResumeWithin)), h[:], org, db.Micros(now))
		return err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrUnauthenticated
	}
	return row.ticket(org, h), nil
}
