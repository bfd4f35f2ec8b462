package db

import (
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

// SourcesOnConnections selects the rows of the sources of a workspace that read through a connection. Lists of
// connections have them, too.
const SourcesOnConnections = SourcesOfWorkspace + ` AND t.connection_id <> ''`

// SourcesOfWorkspace selects the rows of all sources of a workspace.
const SourcesOfWorkspace = `SELECT t.id, t.workspace_id, t.owner_id, t.name, t.connection_id, t.paused, t.failed,
	t.failure_transient, t.failures, t.mapping <> '[]' AS is_mapped, t.drift_level
	FROM sources t WHERE t.workspace_id = ?`

// PackedSourceSummaries packs the rows of SourcesOnConnections.
var PackedSourceSummaries = NewPackedList[SourceSummaryRow]()

// SourceSummaryRow is a row of SourcesOnConnections.
type SourceSummaryRow struct {
	ID               source.ID            `db:"id"`
	Workspace        identity.WorkspaceID `db:"workspace_id"`
	Owner            identity.UserID      `db:"owner_id"`
	Name             string               `db:"name"`
	Connection       connection.ID        `db:"connection_id"`
	Paused           source.PauseReason   `db:"paused"`
	Failed           string               `db:"failed"`
	FailureTransient bool                 `db:"failure_transient"`
	Failures         int                  `db:"failures"`
	IsMapped         bool                 `db:"is_mapped"`
	DriftLevel       source.DriftLevel    `db:"drift_level"`
}

// summary returns the summary of a source that has of its details only what its status depends on.
func (r *SourceSummaryRow) summary() source.Summary {
	s := source.Source{
		ID: r.ID, Workspace: r.Workspace, Owner: r.Owner, Name: r.Name,
		Location: source.Location{Connection: r.Connection},
		Paused:   r.Paused, Failures: r.Failures, Drift: source.Drift{Level: r.DriftLevel},
	}
	if r.Failed != "" {
		s.Failure = &source.Failure{Code: r.Failed, Transient: r.FailureTransient}
	}
	if r.IsMapped {
		s.Mapping = make([]source.Pair, 1)
	}
	return s.Summary()
}

// SourceSummaries returns the summaries that rows are of.
func SourceSummaries(rows []SourceSummaryRow) []source.Summary {
	all := make([]source.Summary, len(rows))
	for i := range rows {
		all[i] = rows[i].summary()
	}
	return all
}
