package connections

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what connections add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.ConnectionStores = ports.ConnectionStores{
		Connections: &Connections{store}, ConsentStates: &ConsentStates{store},
	}
}
