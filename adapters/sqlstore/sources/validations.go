package sources

import (
	"context"
	"encoding/json"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Validations stores the last validation of each data source.
type Validations struct{ db *Store }

var _ ports.SourceValidations = (*Validations)(nil)

type validationRow struct {
	State       source.ValidationState `db:"state"`
	Of          int64                  `db:"of_revision"`
	RequestedAt int64                  `db:"requested_at"`
	UpdatedAt   int64                  `db:"updated_at"`
	StartedAt   int64                  `db:"started_at"`
	EndedAt     int64                  `db:"ended_at"`
	Rows        int                    `db:"rows_read"`
	Failing     int                    `db:"rows_failing"`
	Complete    bool                   `db:"complete"`
	Failure     string                 `db:"failure"`
	Fields      []byte                 `db:"fields"`
}

// The JSON columns of a validation.
type (
	fieldReportRow struct {
		Field   string                 `json:"field"`
		Empty   int                    `json:"empty,omitempty"`
		Counts  map[column.Invalid]int `json:"counts,omitempty"`
		First   []failedRow            `json:"first,omitempty"`
		Skipped int                    `json:"skipped,omitempty"`
	}
	failedRow struct {
		Row   int            `json:"row"`
		Code  column.Invalid `json:"code"`
		Class column.Type    `json:"class,omitempty"`
	}
)

// Validation implements ports.SourceValidations.
func (s *Validations) Validation(
	ctx context.Context, ws identity.WorkspaceID, id source.ID,
) (*source.Validation, error) {
	if _, err := s.db.source(ctx, ws, id); err != nil {
		return nil, err
	}
	return s.db.validation(ctx, id)
}

// UpdateValidation implements ports.SourceValidations. It locks the source, so that changes wait for each other.
func (s *Validations) UpdateValidation(ctx context.Context, ws identity.WorkspaceID, id source.ID,
	change func(*source.Validation) error) (v *source.Validation, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		src, err := tx.lockedSource(ctx, ws, id)
		if err != nil {
			return err
		}
		if v, err = tx.validation(ctx, id); err != nil {
			return err
		}
		if err := change(v); err != nil {
			return err
		}
		fields, err := db.EncodeList(v.Fields, func(f source.FieldReport) fieldReportRow {
			row := fieldReportRow{Field: f.Field, Empty: f.Empty, Counts: f.Counts, Skipped: f.Skipped}
			for _, value := range f.First {
				row.First = append(row.First, failedRow(value))
			}
			return row
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO source_validations (source_id, state, of_revision, requested_at,
				updated_at, started_at, ended_at, rows_read, rows_failing, complete, failure, fields)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (source_id) DO UPDATE SET state = excluded.state, of_revision = excluded.of_revision,
				requested_at = excluded.requested_at, updated_at = excluded.updated_at,
				started_at = excluded.started_at, ended_at = excluded.ended_at, rows_read = excluded.rows_read,
				rows_failing = excluded.rows_failing, complete = excluded.complete, failure = excluded.failure,
				fields = excluded.fields`,
			id, v.State, v.Of, db.Micros(v.RequestedAt), db.Micros(v.UpdatedAt), db.Micros(v.StartedAt),
			db.Micros(v.EndedAt),
			v.Rows, v.Failing, v.Complete, v.Failure, fields); err != nil {
			return err
		}
		return tx.Record(ctx, v.RecordedAt(src.Revision, string(id)))
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// validation returns a source's last validation, or the zero value.
func (store *Store) validation(ctx context.Context, id source.ID) (*source.Validation, error) {
	var r validationRow
	found, err := store.Get(ctx, &r, `SELECT state, of_revision, requested_at, updated_at, started_at, ended_at, rows_read,
		rows_failing, complete, failure, fields FROM source_validations WHERE source_id = ?`, id)
	if err != nil || !found {
		return new(source.Validation), err
	}
	v := &source.Validation{
		State: r.State, Of: r.Of, RequestedAt: db.FromMicros(r.RequestedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		StartedAt: db.FromMicros(r.StartedAt), EndedAt: db.FromMicros(r.EndedAt), Rows: r.Rows, Failing: r.Failing,
		Complete: r.Complete, Failure: r.Failure,
	}
	var rows []fieldReportRow
	err = json.Unmarshal(r.Fields, &rows)
	for _, row := range rows {
		f := source.FieldReport{Field: row.Field, Empty: row.Empty, Counts: row.Counts, Skipped: row.Skipped}
		for _, value := range row.First {
			f.First = append(f.First, source.FailedValue(value))
		}
		v.Fields = append(v.Fields, f)
	}
	return v, err
}
