package sources

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
)

// Purposes of the digests of rows.
const (
	keyPurpose = "source row key"
	rowPurpose = "source row"
)

// rowHasher computes what is kept from a source's rows.
type rowHasher struct {
	*Service
	id  source.ID
	key int // place of the key in the fields
}

// hash returns a row's hashes; ok is false if it has no key. Values that fail count with their texts.
func (h rowHasher) hash(fields []column.Field, r Row) (key source.KeyHash, hash source.RowHash, ok bool) {
	values := make([]any, len(r.Values))
	for i, v := range r.Values {
		values[i] = v
	}
	for _, v := range r.Invalid {
		for i, f := range fields {
			if f.Key == v.Field {
				values[i] = []any{v.text}
			}
		}
	}
	if key, ok = h.keyHash(h.id, r.Values[h.key]); !ok {
		return key, hash, false
	}
	all, err := json.Marshal(values)
	if err != nil {
		return key, hash, false
	}
	sum := h.deps.Digester.Digest(rowPurpose, []byte(h.id), all)
	copy(hash[:], sum[:])
	return key, hash, true
}

// keyHash returns a key's hash; ok is false without a key.
func (s *Service) keyHash(id source.ID, key column.Value) (hash source.KeyHash, ok bool) {
	text, err := json.Marshal(key)
	if err != nil || key.IsNull() {
		return hash, false
	}
	sum := s.deps.Digester.Digest(keyPurpose, []byte(id), text)
	copy(hash[:], sum[:])
	return hash, true
}

// trackedOf returns a text that changes when rows can no longer be compared.
func (s *Service) trackedOf(src *source.Source) string { return s.shapeOf(src) + " " + src.ChangeKey }

// Compare reads all source rows, compares their hashes with the previous comparison's, and records how many were added,
// changed and removed. by is the system. It does nothing for a source that is gone, paused or not compared.
func (s *Service) Compare(ctx context.Context, by identity.Actor, id source.ID) error {
	src, err := s.get(ctx, by, id, source.Use)
	if errors.Is(err, source.ErrNotFound) || (err == nil && (src.Paused != "" || src.ChangeKey == "")) {
		return nil
	}
	if err != nil {
		return err
	}
	if w, err := s.deps.Workspaces.Find(ctx, by.Org, string(by.Workspace)); err != nil || !w.DeletedAt.IsZero() {
		return err
	}
	current, err := s.hashes(ctx, by, src)
	switch {
	case errors.Is(err, connection.ErrTooManyReads):
		return job.Postponed(err)
	case errors.Is(err, errOvertaken), errors.Is(err, source.ErrNotFound):
		return nil // the next refresh compares again
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		if _, ok := failureCode(err); ok {
			return job.Final(toFault(err))
		}
		return err
	}
	err = s.changes.SaveChanges(ctx, by.Workspace, id,
		func(latest *source.Source, t *source.Tracked) (*source.Changes, error) {
			if latest.Revision != src.Revision {
				return nil, nil //nolint:nilnil // it was mapped again: the next refresh compares
			}
			c := t.Compare(by.At, s.trackedOf(src), current)
			latest.Compared(by, c)
			return c, nil
		})
	if errors.Is(err, source.ErrNotFound) {
		return nil
	}
	return err
}

// hashes reads a source's rows, and returns the hashes of the first row with each key.
func (s *Service) hashes(
	ctx context.Context, by identity.Actor, src *source.Source,
) (source.RowHashes, error) {
	watchCtx, stop := s.whileUnchanged(ctx, by, src)
	defer stop()
	current, h := source.RowHashes{}, rowHasher{s, src.ID, -1}
	var all []column.Field
	end, err := s.ReadRows(watchCtx, by, src.ID, RowsQuery{OnInvalid: ReportInvalid},
		func(_ context.Context, start RowsStart) error {
			all = start.Fields
			for i, f := range all {
				if f.Key == src.ChangeKey {
					h.key = i
				}
			}
			if h.key < 0 {
				return source.ErrUnmapped
			}
			return nil
		}, func(r Row) error {
			key, hash, ok := h.hash(all, r)
			if !ok {
				return nil
			}
			return current.Add(key, hash)
		})
	if errors.Is(context.Cause(watchCtx), errOvertaken) {
		return nil, errOvertaken
	}
	if err == nil && end.More {
		err = source.ErrTooManyRows
	}
	return current, err
}

// Changes lists what a source's comparisons found, newest first.
func (s *Service) Changes(
	ctx context.Context, by identity.Actor, id source.ID, q page.Query,
) (page.Of[source.Changes], error) {
	if _, err := s.get(ctx, by, id, source.See); err != nil {
		return page.Of[source.Changes]{}, err
	}
	return s.changes.Changes(ctx, by.Workspace, id, q)
}

// sinceFilter leaves out rows that are as they were at a comparison.
type sinceFilter struct {
	rowHasher
	field   string // the key
	tracked *source.Tracked
	since   uint32
}

// newSince returns the filter for rows that changed after the cursor, or an error if the cursor's generation is
// unknown.
func (s *Service) newSince(
	ctx context.Context, by identity.Actor, src *source.Source, cursor string,
) (*sinceFilter, error) {
	generation, err := strconv.ParseUint(cursor, 10, 32)
	if err != nil {
		return nil, source.ErrUnknownCursor
	}
	state, err := s.changes.Tracked(ctx, by.Workspace, src.ID)
	if err != nil {
		return nil, err
	}
	if err := state.Allows(s.trackedOf(src), uint32(generation)); err != nil {
		return nil, err
	}
	return &sinceFilter{rowHasher{s, src.ID, -1}, src.ChangeKey, state, uint32(generation)}, nil
}

// removed returns the ids of the rows that were removed at the comparisons since then.
func (s *sinceFilter) removed() ([]string, error) {
	keys, err := s.tracked.RemovedSince(s.since)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = key.ID()
	}
	return ids, nil
}

// leavesOut reports whether a row is as it was. places are the fields' places in the row's values.
func (s *sinceFilter) leavesOut(fields []column.Field, places []int, r Row) bool {
	sortedRow := Row{Values: make([]column.Value, len(fields)), Invalid: r.Invalid}
	for i, place := range places {
		if sortedRow.Values[i] = r.Values[place]; fields[i].Key == s.field {
			s.key = i
		}
	}
	if s.key < 0 {
		return false
	}
	key, hash, ok := s.hash(fields, sortedRow)
	return ok && s.tracked.IsUnchanged(key, hash, s.since)
}

// values returns the values of the row that is read, with its id if ids are wanted.
func (r *rowReader) values() []column.Value {
	if r.idFrom < 0 {
		return r.row.Values
	}
	var id column.Value
	if key, ok := r.keyHash(r.fullRow.Values[r.idFrom]); ok {
		id = column.TextValue(key.ID())
	}
	r.withID = append(append(r.withID[:0], r.row.Values...), id)
	return r.withID
}
