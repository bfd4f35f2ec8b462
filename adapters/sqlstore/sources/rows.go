package sources

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

// sourceChanging are the columns of a source that may change, in the order of sourceValues.
var sourceChanging = []string{
	"name", "url", "tab", "header_row", "charset", "delimiter", "locale", "connection_id", "table_schema", "table_name",
	"place", "columns", "columns_total", "mapping", "transforms", "change_key",
	"paused", "failed", "failed_at", "failure_transient", "failure_hint", "failures", "drift_level",
	"drift_columns", "drift_seen",
	"row_estimate", "last_refreshed_at", "next_refresh_at", "revision", "updated_at",
}

var (
	insertSource = `INSERT INTO sources (id, org_id, workspace_id, type, owner_id, created_at, ` +
		strings.Join(sourceChanging, ", ") + `)
		VALUES (?, ?, ?, ?, ?, ?` + strings.Repeat(", ?", len(sourceChanging)) + `)`
	updateSource = `UPDATE sources SET ` + strings.Join(sourceChanging, " = ?, ") +
		` = ? WHERE workspace_id = ? AND id = ?`
)

const sourceColumns = `t.id, t.org_id, t.workspace_id, t.type, t.name, t.url, t.tab, t.header_row,
	t.charset, t.delimiter, t.locale, t.connection_id, t.table_schema, t.table_name,
	t.columns, t.columns_total, t.mapping, t.transforms, t.change_key, t.paused,
	t.failed, t.failed_at, t.failure_transient, t.failure_hint,
	t.failures, t.drift_level, t.drift_columns, t.drift_seen,
	t.row_estimate, t.last_refreshed_at, t.next_refresh_at, t.owner_id, t.revision, t.created_at, t.updated_at`

type sourceRow struct {
	ID               source.ID            `db:"id"`
	Org              identity.OrgID       `db:"org_id"`
	Workspace        identity.WorkspaceID `db:"workspace_id"`
	Type             source.TypeKey       `db:"type"`
	Name             string               `db:"name"`
	URL              string               `db:"url"`
	Tab              string               `db:"tab"`
	HeaderRow        int                  `db:"header_row"`
	Charset          string               `db:"charset"`
	Delimiter        string               `db:"delimiter"`
	Locale           string               `db:"locale"`
	Connection       connection.ID        `db:"connection_id"`
	TableSchema      string               `db:"table_schema"`
	TableName        string               `db:"table_name"`
	Columns          string               `db:"columns"`
	ColumnsTotal     int                  `db:"columns_total"`
	Mapping          string               `db:"mapping"`
	Transforms       string               `db:"transforms"`
	ChangeKey        string               `db:"change_key"`
	Paused           source.PauseReason   `db:"paused"`
	Failed           string               `db:"failed"`
	FailedAt         int64                `db:"failed_at"`
	FailureTransient bool                 `db:"failure_transient"`
	FailureHint      string               `db:"failure_hint"`
	Failures         int                  `db:"failures"`
	DriftLevel       source.DriftLevel    `db:"drift_level"`
	DriftColumns     string               `db:"drift_columns"`
	DriftSeen        int                  `db:"drift_seen"`
	RowEstimate      int64                `db:"row_estimate"`
	LastRefreshedAt  int64                `db:"last_refreshed_at"`
	NextRefreshAt    int64                `db:"next_refresh_at"`
	Owner            identity.UserID      `db:"owner_id"`
	Revision         int64                `db:"revision"`
	CreatedAt        int64                `db:"created_at"`
	UpdatedAt        int64                `db:"updated_at"`
}

// The JSON columns of a source need types with tags: the domain's types are without.
type (
	headerRow struct {
		Name   string      `json:"name"`
		Column string      `json:"column,omitempty"`
		Type   column.Type `json:"type"`
		Empty  bool        `json:"empty,omitempty"`

		Constant  bool `json:"-"` // only for suggestions
		Unordered bool `json:"unordered,omitempty"`
	}
	pairRow struct {
		Field  string `json:"field"`
		Column string `json:"column"`
	}
	driftedRow struct {
		Column string              `json:"column"`
		Change source.ColumnChange `json:"change"`
		To     string              `json:"to,omitempty"`
	}
)

func (r *sourceRow) source() (*source.Source, error) {
	s := new(source.Source)
	return s, r.fill(s)
}

// fill sets all fields of s.
func (r *sourceRow) fill(s *source.Source) (err error) {
	*s = source.Source{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Type: r.Type, Name: r.Name,
		Location: source.Location{
			Sheet: source.SheetLocation{URL: r.URL, Tab: r.Tab, HeaderRow: r.HeaderRow,
				Charset: r.Charset, Delimiter: r.Delimiter, Locale: r.Locale},
			Connection: r.Connection, Table: connection.TableRef{Schema: r.TableSchema, Name: r.TableName},
		},
		ChangeKey: r.ChangeKey,
		Paused:    r.Paused, Failures: r.Failures, Drift: source.Drift{Level: r.DriftLevel, Seen: r.DriftSeen},
		RowEstimate: r.RowEstimate, LastRefreshedAt: db.FromMicros(r.LastRefreshedAt),
		NextRefreshAt: db.FromMicros(r.NextRefreshAt),
		Owner:         r.Owner, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt),
		UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
	if r.Failed != "" {
		s.Failure = &source.Failure{Code: r.Failed, Transient: r.FailureTransient, Hint: r.FailureHint,
			At: db.FromMicros(r.FailedAt)}
	}
	if s.Columns, err = db.DecodeList(r.Columns,
		func(h headerRow) column.Header { return column.Header(h) }); err != nil {
		return err
	}
	s.Total = max(r.ColumnsTotal, len(s.Columns))
	if s.Mapping, err = db.DecodeList(r.Mapping, func(p pairRow) source.Pair {
		return source.Pair{Field: p.Field, Column: p.Column}
	}); err != nil {
		return err
	}
	if err = addTransforms(s.Mapping, r.Transforms); err != nil {
		return err
	}
	s.Drift.Columns, err = db.DecodeList(r.DriftColumns,
		func(c driftedRow) source.DriftedColumn { return source.DriftedColumn(c) })
	return err
}

// sourceValues returns the values of sourceChanging.
func sourceValues(s *source.Source) ([]any, error) {
	columns, err := db.EncodeList(s.Columns, func(h column.Header) headerRow { return headerRow(h) })
	if err != nil {
		return nil, err
	}
	mapping, err := db.EncodeList(s.Mapping, func(p source.Pair) pairRow { return pairRow{p.Field, p.Column} })
	if err != nil {
		return nil, err
	}
	transforms, err := transformsOf(s.Mapping)
	if err != nil {
		return nil, err
	}
	drift, err := db.EncodeList(s.Drift.Columns, func(c source.DriftedColumn) driftedRow { return driftedRow(c) })
	if err != nil {
		return nil, err
	}
	var f source.Failure
	if s.Failure != nil {
		f = *s.Failure
	}
	l := s.Location
	return []any{
		s.Name, l.Sheet.URL, l.Sheet.Tab, l.Sheet.HeaderRow, l.Sheet.Charset, l.Sheet.Delimiter,
		l.Sheet.Locale, l.Connection, l.Table.Schema, l.Table.Name, l.Key(),
		columns, s.Total, mapping, transforms, s.ChangeKey,
		s.Paused, f.Code, db.Micros(f.At), f.Transient, f.Hint, s.Failures, s.Drift.Level, drift, s.Drift.Seen,
		s.RowEstimate, db.Micros(s.LastRefreshedAt), db.Micros(s.NextRefreshAt), s.Revision, db.Micros(s.UpdatedAt),
	}, nil
}
