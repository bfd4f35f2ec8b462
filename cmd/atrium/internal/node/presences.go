package node

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/redis"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/presences"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// steady returns a monotonic clock that begins at start, and ignores later changes of the system clock. runClock
// corrects what is left of them.
func steady(start time.Time) func() time.Time {
	return func() time.Time { return start.Add(time.Since(start)).UTC().Truncate(time.Microsecond) }
}

// NewPresenceSignals returns the signals that tell nodes about changed presences: through Redis if it is configured,
// else through PostgreSQL. It returns nil on SQLite, which has no other nodes.
func NewPresenceSignals(c configs.Config, db *sqlstore.Store) (ports.PresenceSignals, func(), error) {
	switch {
	case db.Engine() != "postgres":
		return nil, func() {}, nil
	case !c.Redis.URL.IsZero():
		return redis.New(c.Redis)
	default:
		return presences.NewSignals(db.DB, c.Database), func() {}, nil
	}
}

// ids returns the IDs of the current orgs.
func (o *Orgs) ids() []identity.OrgID {
	all := o.Directory().All()
	out := make([]identity.OrgID, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}
