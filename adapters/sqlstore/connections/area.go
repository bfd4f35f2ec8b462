package connections

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what connections add to what concerns all areas.
var Area = db.Area{
	Name:      "connections",
	AddStores: addStores,
	Reseal:    reseal,
	Tables: []db.Table{
		{Name: "connections", Key: "id", Of: "workspaces", Owner: "revoked_at = 0 AND workspace_id"},
		{Name: "connections", Key: "id", Of: "workspaces", Owner: "revoked_at > 0 AND workspace_id"},
		{Name: "connection_credentials", Key: "connection_id", Of: "connections", Owner: "connection_id"},
	},
	Expiries: []db.Expiry{
		{Table: "probe_attempts", Key: "scope", Condition: "last_at < ?", Kept: time.Hour},
		{Table: "consent_states", Key: "hash", Condition: "expires_at < ?"},
	},
	Exports: []db.Section{
		{Name: "connections", Users: 1,
			Query: `SELECT id, workspace_id, kind, name, created_at, revoked_at FROM connections
				WHERE org_id = ? AND created_by = ? ORDER BY id DESC`},
	},
}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.ConnectionStores = ports.ConnectionStores{
		Connections: &Connections{store}, ConsentStates: &ConsentStates{store},
	}
}
