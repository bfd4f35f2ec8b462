package presences

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what presences add to what concerns all areas.
var Area = db.Area{
	Name:      "presences",
	AddStores: addStores,
	Exports: []db.Section{
		{Name: "presence", Users: 1,
			Query: `SELECT id, lasting_status, lasting_text, passing_status, passing_text, passing_until, devices,
				active_at, seen_at FROM presences WHERE org_id = ? AND user_id = ?`},
	},
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Presences = &Presences{store}
}
