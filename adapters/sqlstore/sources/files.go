package sources

import (
	"context"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Files stores what is known of uploaded files.
type Files struct{ db *Store }

var _ ports.SourceFiles = (*Files)(nil)

const fileColumns = `t.id, t.org_id, t.workspace_id, t.owner_id, t.name, t.size, t.parts, t.pending_size,
	t.pending_parts, t.pending_at, t.sealed_key, t.revision, t.created_at, t.updated_at`

type fileRow struct {
	ID           source.FileID        `db:"id"`
	Org          identity.OrgID       `db:"org_id"`
	Workspace    identity.WorkspaceID `db:"workspace_id"`
	Owner        identity.UserID      `db:"owner_id"`
	Name         string               `db:"name"`
	Size         int64                `db:"size"`
	Parts        string               `db:"parts"`
	PendingSize  int64                `db:"pending_size"`
	PendingParts string               `db:"pending_parts"`
	PendingAt    int64                `db:"pending_at"`
	SealedKey    []byte               `db:"sealed_key"`
	Revision     int64                `db:"revision"`
	CreatedAt    int64                `db:"created_at"`
	UpdatedAt    int64                `db:"updated_at"`
}

// partRow is a part in the JSON columns of a file.
type partRow struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
}

func (r *fileRow) file() (*source.File, error) {
	f := &source.File{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Owner: r.Owner, Name: r.Name, Key: r.SealedKey,
		Content: source.Upload{Size: r.Size}, Pending: source.Upload{Size: r.PendingSize},
		PendingAt: db.FromMicros(r.PendingAt), Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
	var err error
	if f.Content.Parts, err = partsOf(r.Parts); err != nil {
		return nil, err
	}
	f.Pending.Parts, err = partsOf(r.PendingParts)
	return f, err
}

// partsOf returns the parts in a JSON column; nil if there are none.
func partsOf(text string) (parts []source.FilePart, err error) {
	var rows []partRow
	err = json.Unmarshal([]byte(text), &rows)
	for _, row := range rows {
		parts = append(parts, source.FilePart(row))
	}
	return parts, err
}

// fileValues returns the columns of f that may change.
func fileValues(f *source.File) ([]any, error) {
	row := func(p source.FilePart) partRow { return partRow(p) }
	parts, err := db.EncodeList(f.Content.Parts, row)
	if err != nil {
		return nil, err
	}
	pendingParts, err := db.EncodeList(f.Pending.Parts, row)
	return []any{f.Content.Size, parts, f.Pending.Size, pendingParts, db.Micros(f.PendingAt), f.Revision,
		db.Micros(f.UpdatedAt)}, err
}

// Add implements ports.SourceFiles.
func (s *Files) Add(ctx context.Context, by identity.Actor, f *source.File) error {
	values, err := fileValues(f)
	if err != nil {
		return err
	}
	return s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		var others int
		if _, err := tx.Get(ctx, &others, `SELECT COUNT(*) FROM source_files WHERE workspace_id = ?`,
			by.Workspace); err != nil {
			return err
		}
		if others >= source.MaxFiles {
			return source.ErrFileLimit
		}
		if _, err := tx.Exec(ctx, `INSERT INTO source_files (id, org_id, workspace_id, owner_id, name, sealed_key,
				created_at, size, parts, pending_size, pending_parts, pending_at, revision, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append([]any{f.ID, f.Org, f.Workspace, f.Owner, f.Name, f.Key, db.Micros(f.CreatedAt)},
				values...)...); err != nil {
			return err
		}
		return tx.Record(ctx, f.RecordedAt(f.Revision, string(f.ID)))
	})
}

// Get implements ports.SourceFiles.
func (s *Files) Get(ctx context.Context, ws identity.WorkspaceID, id source.FileID) (*source.File, error) {
	return s.db.file(ctx, ws, id, "")
}

func (store *Store) file(
	ctx context.Context, ws identity.WorkspaceID, id source.FileID, lock string,
) (*source.File, error) {
	var row fileRow
	found, err := store.Get(ctx, &row, `SELECT `+fileColumns+` FROM source_files t WHERE t.workspace_id = ?
		AND t.id = ?`+lock, ws, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, source.ErrFileNotFound
	}
	return row.file()
}

// List implements ports.SourceFiles.
func (s *Files) List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (page.Of[source.File], error) {
	conditions := db.NewConditions(`t.workspace_id = ?`, ws)
	conditions.When(q.After != "", `t.id < ?`, q.After)
	var rows []fileRow
	if err := s.db.List(ctx, &rows, `SELECT `+fileColumns+` FROM source_files t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return page.Of[source.File]{}, err
	}
	files := make([]source.File, len(rows))
	for i := range rows {
		f, err := rows[i].file()
		if err != nil {
			return page.Of[source.File]{}, err
		}
		files[i] = *f
	}
	return page.Cut(files, q.Limit, func(f source.File) string { return string(f.ID) }), nil
}

// Update implements ports.SourceFiles.
func (s *Files) Update(
	ctx context.Context, ws identity.WorkspaceID, id source.FileID, change func(*source.File) error,
) (f *source.File, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		if f, err = tx.file(ctx, ws, id, tx.Dialect.Lock); err != nil {
			return err
		}
		if err := change(f); err != nil {
			return err
		}
		if f.Removed {
			_, err = tx.Exec(ctx, `DELETE FROM source_files WHERE workspace_id = ? AND id = ?`, ws, id)
		} else {
			var values []any
			if values, err = fileValues(f); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE source_files SET size = ?, parts = ?, pending_size = ?, pending_parts = ?,
				pending_at = ?, revision = ?, updated_at = ? WHERE workspace_id = ? AND id = ?`,
				append(values, ws, id)...)
		}
		if err != nil {
			return err
		}
		return tx.Record(ctx, f.RecordedAt(f.Revision, string(f.ID)))
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Readers implements ports.SourceFiles.
func (s *Files) Readers(
	ctx context.Context, ws identity.WorkspaceID, id source.FileID,
) ([]source.Summary, error) {
	rows, err := db.PackedSourceSummaries.List(ctx, s.db.DB, `id DESC`, db.SourcesOfWorkspace+` AND t.url = ?`, ws,
		id.URL())
	return db.SourceSummaries(rows), err
}

// sweepUploads ends uploads of the next content of files that have waited too long for a part. A file without any
// content is removed: see Area.
func sweepUploads(ctx context.Context, d *db.DB, now time.Time, _ time.Duration) error {
	_, err := d.Exec(ctx, `UPDATE source_files SET pending_size = 0, pending_parts = '[]', pending_at = 0
		WHERE size > 0 AND pending_at > 0 AND pending_at < ?`, db.Micros(now.Add(-source.UploadKept)))
	return err
}

// reseal seals the keys of uploaded files again.
func reseal(ctx context.Context, d *db.DB, r *db.Resealing) error {
	for cursor := source.FileID(""); ; {
		var rows []fileRow
		if err := d.List(ctx, &rows, `SELECT `+fileColumns+` FROM source_files t WHERE t.id > ? ORDER BY t.id
			LIMIT 100`, cursor); err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			cursor = row.ID
			if err := r.Credential(row.SealedKey, func() ([]byte, error) { return r.Rewrap(row.SealedKey) },
				func(fresh []byte) (int64, error) {
					return d.Exec(ctx, `UPDATE source_files SET sealed_key = ? WHERE id = ? AND sealed_key = ?`, fresh,
						row.ID, row.SealedKey)
				}); err != nil {
				return err
			}
		}
		r.Progress(r.Done)
	}
}
