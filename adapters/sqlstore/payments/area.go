package payments

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what payments add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Payments = &Payments{store}
	s.Inbox = &Inbox{store}
	s.Usage = &Usage{store}
	s.Meters = &Meters{store}
	s.Trials = &Trials{store}
	s.StreamSeats = &StreamSeats{store}
}
