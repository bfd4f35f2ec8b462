package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Tickets keeps tickets until they are used.
type Tickets struct{ db *DB }

var _ ports.Tickets = (*Tickets)(nil)

// Add implements ports.Tickets.
func (s *Tickets) Add(ctx context.Context, t account.Ticket) error {
	_, err := s.db.exec(ctx, `INSERT INTO stream_tickets (hash, org_id, key_hash, issuer, subject, until, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		t.Hash[:], t.Org, t.Proof.Key[:], t.Proof.Issuer, t.Proof.Subject, micros(t.Proof.Until), micros(t.ExpiresAt))
	return err
}

// Take implements ports.Tickets.
func (s *Tickets) Take(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (t *account.Ticket, err error) {
	var row struct {
		Key       []byte `db:"key_hash"`
		Issuer    string `db:"issuer"`
		Subject   string `db:"subject"`
		Until     int64  `db:"until"`
		ExpiresAt int64  `db:"expires_at"`
	}
	var found bool
	err = s.db.inTx(ctx, func(tx *DB) (err error) {
		found, err = tx.get(ctx, &row, `DELETE FROM stream_tickets WHERE hash = ? AND org_id = ? RETURNING key_hash, issuer, subject, until, expires_at`, h[:], org)
		return err
	})
	if err == nil && (!found || !now.Before(fromMicros(row.ExpiresAt))) {
		err = identity.ErrUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	t = &account.Ticket{Org: org, Hash: h, ExpiresAt: fromMicros(row.ExpiresAt), Proof: account.Proof{Issuer: row.Issuer, Subject: row.Subject, Until: fromMicros(row.Until)}}
	copy(t.Proof.Key[:], row.Key)
	return t, nil
}
