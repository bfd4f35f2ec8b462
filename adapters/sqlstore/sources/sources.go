package sources

import (
	"context"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Sources stores data sources.
type Sources struct{ db *Store }

var _ ports.Sources = (*Sources)(nil)

// sourcesPlace allows one source of each type at each location.
const sourcesPlace = "sources_place"

// maxMemory is the number of column names that are stored for each type in a workspace.
const maxMemory = 2000

// Add implements ports.Sources.
func (s *Sources) Add(ctx context.Context, by identity.Actor, make func(others int) (*source.Source, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		var others int
		if _, err := tx.Get(ctx, &others, `SELECT COUNT(*) FROM sources WHERE workspace_id = ?`,
			by.Workspace); err != nil {
			return err
		}
		src, err := make(others)
		if err != nil {
			return err
		}
		v, err := sourceValues(src)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertSource,
			append([]any{src.ID, src.Org, src.Workspace, src.Type, src.Owner, db.Micros(src.CreatedAt)}, v...)...)
		if tx.Dialect.Duplicate(err, sourcesPlace) {
			return source.ErrAlreadyAttached
		}
		if err != nil {
			return err
		}
		return tx.keepLearnt(ctx, src)
	})
}

// keepLearnt adds the names that s has learnt to its workspace's memory, and stores its events.
func (store *Store) keepLearnt(ctx context.Context, s *source.Source) error {
	// In the same order everywhere, to prevent deadlocks.
	for _, name := range slices.Sorted(maps.Keys(s.Learnt)) {
		if _, err := store.Exec(ctx, `INSERT INTO source_memory (workspace_id, type, column_name, field, taught_at)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, type, column_name) DO UPDATE
			SET field = excluded.field, taught_at = excluded.taught_at`,
			s.Workspace, s.Type, name, s.Learnt[name], db.Micros(s.UpdatedAt)); err != nil {
			return err
		}
	}
	return store.Record(ctx, s.RecordedAt(s.Revision, string(s.ID)))
}

// Get implements ports.Sources.
func (s *Sources) Get(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error) {
	return s.db.source(ctx, ws, id)
}

// source returns a source, or source.ErrNotFound.
func (store *Store) source(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error) {
	return store.findSource(ctx, ws, id, "")
}

// lockedSource is source for a source that is about to change.
func (store *Store) lockedSource(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error) {
	return store.findSource(ctx, ws, id, store.Dialect.Lock)
}

func (store *Store) findSource(
	ctx context.Context, ws identity.WorkspaceID, id source.ID, lock string,
) (*source.Source, error) {
	var row sourceRow
	found, err := store.Get(ctx, &row, `SELECT `+sourceColumns+` FROM sources t WHERE t.workspace_id = ? AND t.id = ?`+
		lock, ws, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, source.ErrNotFound
	}
	return row.source()
}

// List implements ports.Sources.
func (s *Sources) List(ctx context.Context, ws identity.WorkspaceID, q page.Query) (page.Of[source.Source], error) {
	conditions := db.NewConditions(`t.workspace_id = ?`, ws)
	conditions.When(q.After != "", `t.id < ?`, q.After)
	rows, err := packedSources.List(ctx, s.db.DB, `id DESC`, `SELECT `+sourceColumns+` FROM sources t WHERE `+
		conditions.SQL()+` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return page.Of[source.Source]{}, err
	}
	found, err := sourcesOf(rows)
	if err != nil {
		return page.Of[source.Source]{}, err
	}
	return page.Cut(found, q.Limit, func(s source.Source) string { return string(s.ID) }), nil
}

var packedSources = db.NewPackedList[sourceRow]()

func sourcesOf(rows []sourceRow) ([]source.Source, error) {
	found := make([]source.Source, len(rows))
	for i := range rows {
		if err := rows[i].fill(&found[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ListThrough implements ports.Sources.
func (s *Sources) ListThrough(
	ctx context.Context, ws identity.WorkspaceID, conn connection.ID,
) ([]source.Summary, error) {
	rows, err := db.PackedSourceSummaries.List(ctx, s.db.DB, `id DESC`,
		db.SourcesOnConnections+` AND t.connection_id = ?`, ws, conn)
	return db.SourceSummaries(rows), err
}

// Lock implements ports.Sources.
func (s *Sources) Lock(ctx context.Context, ws identity.WorkspaceID, id source.ID) (*source.Source, error) {
	return s.db.lockedSource(ctx, ws, id)
}

// Update implements ports.Sources.
func (s *Sources) Update(ctx context.Context, ws identity.WorkspaceID, id source.ID,
	change func(*source.Source) error) (*source.Source, error) {
	var src *source.Source
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		if src, err = tx.lockedSource(ctx, ws, id); err != nil {
			return err
		}
		return tx.changeSource(ctx, src, change)
	})
	if err != nil {
		return nil, err
	}
	src.Learnt = nil
	return src, nil
}

// UpdateThrough implements ports.Sources.
func (s *Sources) UpdateThrough(ctx context.Context, ws identity.WorkspaceID, conn connection.ID,
	change func(*source.Source) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var rows []sourceRow
		if err := tx.List(ctx, &rows, `SELECT `+sourceColumns+` FROM sources t WHERE t.workspace_id = ?
			AND t.connection_id <> '' AND t.connection_id = ? ORDER BY t.id`+tx.Dialect.Lock, ws, conn); err != nil {
			return err
		}
		found, err := sourcesOf(rows)
		if err != nil {
			return err
		}
		for i := range found {
			if err := tx.changeSource(ctx, &found[i], change); err != nil {
				return err
			}
		}
		return nil
	})
}

// changeSource changes a locked source, and saves it if it changed.
func (store *Store) changeSource(ctx context.Context, s *source.Source, change func(*source.Source) error) error {
	store.DeclareChange(s.Workspace) // a refresh without a difference records no event
	previous, err := sourceValues(s)
	if err != nil {
		return err
	}
	if err := change(s); err != nil {
		return err
	}
	if s.Detached {
		if _, err := store.Exec(ctx, `DELETE FROM sources WHERE workspace_id = ? AND id = ?`, s.Workspace,
			s.ID); err != nil {
			return err
		}
		return store.Record(ctx, s.RecordedAt(s.Revision, string(s.ID)))
	}
	v, err := sourceValues(s)
	if err != nil {
		return err
	}
	if !slices.Equal(v, previous) {
		_, err = store.Exec(ctx, updateSource, append(v, s.Workspace, s.ID)...)
		if store.Dialect.Duplicate(err, sourcesPlace) {
			return source.ErrAlreadyAttached
		}
		if err != nil {
			return err
		}
	}
	return store.keepLearnt(ctx, s)
}

// Memory implements ports.Sources.
func (s *Sources) Memory(ctx context.Context, ws identity.WorkspaceID, t source.TypeKey) (column.Memory, error) {
	var rows []struct {
		Column string `db:"column_name"`
		Field  string `db:"field"`
	}
	if err := s.db.List(ctx, &rows, `SELECT column_name, field FROM source_memory WHERE workspace_id = ? AND type = ?
		ORDER BY taught_at DESC, column_name LIMIT ?`, ws, t, maxMemory); err != nil {
		return nil, err
	}
	m := column.Memory{}
	for _, r := range rows {
		m[r.Column] = r.Field
	}
	return m, nil
}
