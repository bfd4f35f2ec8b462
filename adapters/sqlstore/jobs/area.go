package jobs

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what jobs add to what concerns all areas.
var Area = db.Area{
	Name:      "jobs",
	AddStores: addStores,
	Tables:    []db.Table{{Name: "jobs", Key: "id", Of: "workspaces", Owner: "workspace_id"}},
	Expiries: []db.Expiry{
		{Table: "jobs", Key: "id", Condition: "ended_at > 0 AND ended_at < ?", Kept: 7 * 24 * time.Hour},
	},
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Jobs = &Jobs{store}
}
