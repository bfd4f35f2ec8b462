package events

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns what the audit trail adds to what concerns all areas.
func Area(hooks *Hooks) db.Area {
	return db.Area{AddStores: func(s *ports.Stores, d *db.DB) { s.Events = &Events{NewStore(d, hooks)} }}
}
