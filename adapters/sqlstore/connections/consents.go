package connections

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// ConsentStates stores the states of consents that were used.
type ConsentStates struct{ db *Store }

var _ ports.ConsentStates = (*ConsentStates)(nil)

// Use implements ports.ConsentStates.
func (s *ConsentStates) Use(ctx context.Context, org identity.OrgID, state [32]byte, expires time.Time) error {
	count, err := s.db.Exec(ctx, `INSERT INTO consent_states (hash, org_id, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (hash) DO NOTHING`, state[:], org, db.Micros(expires))
	if err == nil && count == 0 {
		err = connection.ErrConsentInvalid
	}
	return err
}
