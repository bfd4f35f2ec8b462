package sources

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what data sources add to what concerns all areas.
var Area = db.Area{
	Name:      "sources",
	AddStores: addStores,
	Tables: []db.Table{
		{Name: "sources", Key: "id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "source_validations", Key: "source_id", Of: "sources", Owner: "source_id"},
		{Name: "source_tracked", Key: "source_id", Of: "sources", Owner: "source_id"},
		{Name: "source_changes", Key: "source_id, number", Of: "sources", Owner: "source_id"},
		{Name: "source_memory", Key: "workspace_id, type, column_name", Of: "workspaces", Owner: "workspace_id"},
	},
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.SourceStores = ports.SourceStores{
		Sources: &Sources{store}, SourceValidations: &Validations{store}, SourceChanges: &Changes{store},
	}
}
