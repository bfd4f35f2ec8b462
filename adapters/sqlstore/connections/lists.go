package connections

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

var (
	packedConnections = db.NewPackedList[connectionRow]()

	listConnections = `SELECT (` + packedConnections.Statement(`id DESC`,
		`SELECT `+connectionColumns+` FROM connections t WHERE t.workspace_id = ?`) +
		`) AS connections, (` + db.PackedSourceSummaries.Statement(`connection_id DESC, id DESC`,
		db.SourcesOnConnections) + `) AS sources`
)

// List implements ports.Connections.
func (s *Connections) List(
	ctx context.Context, ws identity.WorkspaceID,
) ([]connection.Connection, []source.Summary, error) {
	var texts struct {
		Connections string `db:"connections"`
		Sources     string `db:"sources"`
	}
	if _, err := s.db.Get(ctx, &texts, listConnections, ws, ws); err != nil {
		return nil, nil, err
	}
	rows, err := packedConnections.Unpack(texts.Connections)
	if err != nil {
		return nil, nil, err
	}
	all := make([]connection.Connection, len(rows))
	for i := range rows {
		if err := rows[i].fill(&all[i]); err != nil {
			return nil, nil, err
		}
	}
	sources, err := db.PackedSourceSummaries.Unpack(texts.Sources)
	return all, db.SourceSummaries(sources), err
}
