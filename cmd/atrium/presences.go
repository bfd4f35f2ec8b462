package main

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/redis"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// newPresences is the one service of presences: what it holds in memory is the node's, and its changes
// are never part of another's transaction.
func newPresences(s ports.Stores, signals ports.PresenceSignals) *presences.Service {
	return presences.NewService(s.Presences, steady(time.Now()), signals)
}

// steady is a clock that goes on from a time that was just read, whatever happens to the system's.
func steady(start time.Time) presences.Clock {
	return func() time.Time { return start.Add(time.Since(start)).UTC().Truncate(time.Microsecond) }
}

// newPresenceSignals tells nodes of changed presences by Redis where there is one, else by PostgreSQL;
// nil on SQLite, which has no other nodes.
func newPresenceSignals(c configs.Config, db *sqlstore.DB) (ports.PresenceSignals, func(), error) {
	switch {
	case db.Engine() != "postgres":
		return nil, func() {}, nil
	case !c.Redis.URL.IsZero():
		return redis.New(c.Redis)
	default:
		return sqlstore.NewPresenceSignals(db, c.Database), func() {}, nil
	}
}

// ids names the present orgs.
func (o *orgs) ids() []identity.OrgID {
	all := o.present.Load().All()
	out := make([]identity.OrgID, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}
