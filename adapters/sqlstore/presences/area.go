package presences

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what presences add to what concerns all areas.
var Area = db.Area{Name: "presences", AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Presences = &Presences{store}
}
