package sources

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Changes stores hashes of rows, and the changes that comparisons found.
type Changes struct{ db *Store }

var _ ports.SourceChanges = (*Changes)(nil)

const (
	keptChanges = 100 // of a source

	// trackedBytes is the size of a row in source_tracked.hashes: the hashes of its key and its values, and a number.
	trackedBytes = len(source.KeyHash{}) + len(source.RowHash{}) + 4

	// source_tracked.removed begins with two numbers. Each row has the hash of its key, and a number.
	removedHead  = 8
	removedBytes = len(source.KeyHash{}) + 4
)

// Tracked implements ports.SourceChanges.
func (s *Changes) Tracked(
	ctx context.Context, ws identity.WorkspaceID, id source.ID,
) (*source.Tracked, error) {
	if _, err := s.db.source(ctx, ws, id); err != nil {
		return nil, err
	}
	return s.db.tracked(ctx, id)
}

// tracked returns the tracked rows of a source, which are empty before the first comparison.
func (store *Store) tracked(ctx context.Context, id source.ID) (*source.Tracked, error) {
	var r struct {
		Mapped  string `db:"mapped"`
		Number  uint32 `db:"number"`
		First   uint32 `db:"first_number"`
		Hashes  []byte `db:"hashes"`
		Removed []byte `db:"removed"`
	}
	found, err := store.Get(ctx, &r, `SELECT mapped, number, first_number, hashes, removed FROM source_tracked
		WHERE source_id = ?`, id)
	if err != nil || !found {
		return new(source.Tracked), err
	}
	if len(r.Hashes)%trackedBytes != 0 || (len(r.Removed) > 0 && len(r.Removed)%removedBytes != removedHead) {
		return nil, fmt.Errorf("the hashes of %s have %d and %d bytes", id, len(r.Hashes), len(r.Removed))
	}
	t := &source.Tracked{Of: r.Mapped, Number: r.Number, Since: r.First,
		Rows: make(map[source.KeyHash]source.TrackedRow, len(r.Hashes)/trackedBytes)}
	for row := range slices.Chunk(r.Hashes, trackedBytes) {
		var key source.KeyHash
		var tracking source.TrackedRow
		rest := row[copy(key[:], row):]
		tracking.Changed = binary.BigEndian.Uint32(rest[copy(tracking.Hash[:], rest):])
		t.Rows[key] = tracking
	}
	decodeRemoved(t, r.Removed)
	return t, nil
}

// encodeRemoved returns the stored form of removed rows: the comparison since which they are tracked, the last
// comparison, and each row with its comparison.
func encodeRemoved(t *source.Tracked) []byte {
	out := make([]byte, 0, removedHead+len(t.Removed)*removedBytes)
	out = binary.BigEndian.AppendUint32(out, t.RemovedAfter)
	out = binary.BigEndian.AppendUint32(out, t.Number)
	for _, key := range slices.SortedFunc(maps.Keys(t.Removed), compareKeys) {
		out = binary.BigEndian.AppendUint32(append(out, key[:]...), t.Removed[key])
	}
	return out
}

// decodeRemoved is the inverse of encodeRemoved. If another comparison was the last one, a release that does not track
// removed rows made it: then they are tracked from now on.
func decodeRemoved(t *source.Tracked, encoded []byte) {
	if len(encoded) < removedHead || binary.BigEndian.Uint32(encoded[4:]) != t.Number {
		t.RemovedAfter = t.Number
		return
	}
	t.RemovedAfter = binary.BigEndian.Uint32(encoded)
	for row := range slices.Chunk(encoded[removedHead:], removedBytes) {
		if t.Removed == nil {
			t.Removed = make(map[source.KeyHash]uint32, len(encoded)/removedBytes)
		}
		var key source.KeyHash
		number := row[copy(key[:], row):]
		t.Removed[key] = binary.BigEndian.Uint32(number)
	}
}

func compareKeys(a, b source.KeyHash) int { return bytes.Compare(a[:], b[:]) }

// SaveChanges implements ports.SourceChanges.
func (s *Changes) SaveChanges(ctx context.Context, ws identity.WorkspaceID, id source.ID,
	change func(*source.Source, *source.Tracked) (*source.Changes, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		src, err := tx.lockedSource(ctx, ws, id)
		if err != nil {
			return err
		}
		t, err := tx.tracked(ctx, id)
		if err != nil {
			return err
		}
		c, err := change(src, t)
		if err != nil || c == nil {
			return err
		}
		hashes := make([]byte, 0, len(t.Rows)*trackedBytes)
		for _, key := range slices.SortedFunc(maps.Keys(t.Rows), compareKeys) {
			row := t.Rows[key]
			hashes = append(append(hashes, key[:]...), row.Hash[:]...)
			hashes = binary.BigEndian.AppendUint32(hashes, row.Changed)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO source_tracked (source_id, mapped, number, first_number, hashes, removed)
			VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (source_id) DO UPDATE SET mapped = excluded.mapped, number = excluded.number,
				first_number = excluded.first_number, hashes = excluded.hashes, removed = excluded.removed`,
			id, t.Of, int64(t.Number), int64(t.Since), hashes, encodeRemoved(t)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO source_changes (source_id, number, at, first, row_count, added, changed,
			removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, id, int64(c.Number), db.Micros(c.At), c.First, c.Rows, c.Added,
			c.Changed, c.Removed); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM source_changes WHERE source_id = ? AND number <= ?`, id,
			int64(c.Number)-keptChanges); err != nil {
			return err
		}
		return tx.Record(ctx, src.RecordedAt(src.Revision, string(id)))
	})
}

// Changes implements ports.SourceChanges.
func (s *Changes) Changes(
	ctx context.Context, ws identity.WorkspaceID, id source.ID, q page.Query,
) (page.Of[source.Changes], error) {
	if _, err := s.db.source(ctx, ws, id); err != nil {
		return page.Of[source.Changes]{}, err
	}
	conditions := db.NewConditions(`source_id = ?`, id)
	if q.After != "" {
		limit, err := strconv.ParseInt(q.After, 10, 64)
		if err != nil {
			return page.Of[source.Changes]{}, err
		}
		conditions.When(true, `number < ?`, limit)
	}
	var rows []struct {
		Number  uint32 `db:"number"`
		At      int64  `db:"at"`
		First   bool   `db:"first"`
		Rows    int    `db:"row_count"`
		Added   int    `db:"added"`
		Changed int    `db:"changed"`
		Removed int    `db:"removed"`
	}
	if err := s.db.List(ctx, &rows, `SELECT number, at, first, row_count, added, changed, removed FROM source_changes
		WHERE `+conditions.SQL()+` ORDER BY number DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return page.Of[source.Changes]{}, err
	}
	found := make([]source.Changes, len(rows))
	for i, r := range rows {
		found[i] = source.Changes{Number: r.Number, At: db.FromMicros(r.At), First: r.First, Rows: r.Rows,
			Added:   r.Added,
			Changed: r.Changed, Removed: r.Removed}
	}
	return page.Cut(found, q.Limit, func(c source.Changes) string { return strconv.Itoa(int(c.Number)) }), nil
}
