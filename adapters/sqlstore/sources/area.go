package sources

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what data sources add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.SourceStores = ports.SourceStores{
		Sources: &Sources{store}, SourceValidations: &Validations{store}, SourceChanges: &Changes{store},
	}
}
