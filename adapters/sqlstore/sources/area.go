package sources

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what data sources add to what concerns all areas.
var Area = db.Area{
	Name:      "sources",
	AddStores: addStores,
	Sweep:     sweepUploads,
	Reseal:    reseal,
	Tables: []db.Table{
		{Name: "sources", Key: "id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "source_validations", Key: "source_id", Of: "sources", Owner: "source_id"},
		{Name: "source_tracked", Key: "source_id", Of: "sources", Owner: "source_id"},
		{Name: "source_changes", Key: "source_id, number", Of: "sources", Owner: "source_id"},
		{Name: "source_files", Key: "id", Of: "workspaces", Owner: "workspace_id"},
		{Name: "source_memory", Key: "workspace_id, type, column_name", Of: "workspaces", Owner: "workspace_id"},
	},
	Expiries: []db.Expiry{
		{Table: "source_files", Key: "id", Condition: "size = 0 AND pending_at > 0 AND pending_at < ?",
			Kept: source.UploadKept},
	},
	Exports: []db.Section{
		{Name: "files", Users: 1,
			Query: `SELECT f.id, f.workspace_id, f.name, f.created_at FROM source_files f
				JOIN workspaces w ON w.id = f.workspace_id WHERE w.org_id = ? AND f.owner_id = ? ORDER BY f.id DESC`},
		{Name: "sources", Users: 1,
			Query: `SELECT s.id, s.workspace_id, s.type, s.name, s.created_at FROM sources s
				JOIN workspaces w ON w.id = s.workspace_id WHERE w.org_id = ? AND s.owner_id = ? ORDER BY s.id DESC`},
	},
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.SourceStores = ports.SourceStores{
		Sources: &Sources{store}, SourceValidations: &Validations{store}, SourceChanges: &Changes{store},
		SourceFiles: &Files{store},
	}
}
