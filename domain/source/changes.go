package source

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/revision"
)

// CompareJob is the kind of job that compares a source's rows with the previous comparison's. Its subject is
// the source.
const CompareJob job.Kind = "source.compare"

// MaxTracked is the most source rows that are compared, and the most removed rows that are known.
const MaxTracked = 50_000

// Errors of comparisons.
var (
	ErrTooManyRows = &fault.Error{
		Kind: fault.Invalid,
		Code: "too_many_rows",
		Detail: "The data source has more rows than can be compared: 50,000, or fewer by the limits of the " +
			"organisation for rows.",
	}
	ErrUnknownCursor = &fault.Error{
		Kind:   fault.Malformed,
		Code:   "invalid_cursor",
		Detail: "The cursor is none of a change of this data source.",
	}
	ErrRemovedUnknown = &fault.Error{
		Kind:   ErrSourceChanged.Kind,
		Code:   ErrSourceChanged.Code,
		Detail: "It is no longer known which rows were removed since this cursor. Read all rows.",
	}
	ErrNotCompared = &fault.Error{
		Kind: fault.Invalid,
		Code: "rows_not_compared",
		Detail: "The rows of this data source have no ids. Set change_key to a mapped field that has another value " +
			"in each row.",
	}
)

// KeyHash is a row key's keyed digest.
type KeyHash [12]byte

// ID returns k as callers see it: base64url, 16 characters.
func (k KeyHash) ID() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

// RowHash is a keyed digest of all mapped values in a row.
type RowHash [8]byte

// RowHashes are a comparison's row hashes, by their keys.
type RowHashes map[KeyHash]RowHash

// Add adds a row's hash, unless an earlier row has its key. It returns ErrTooManyRows if there are MaxTracked keys.
func (h RowHashes) Add(key KeyHash, hash RowHash) error {
	if _, isDuplicate := h[key]; isDuplicate {
		return nil
	}
	if len(h) == MaxTracked {
		return ErrTooManyRows
	}
	h[key] = hash
	return nil
}

// TrackedRow is what is kept from a row.
type TrackedRow struct {
	Hash    RowHash
	Changed uint32 // Changes.Number of the comparison that found it new or changed
}

// Tracked is what is kept from a source's rows: hashes.
type Tracked struct {
	Of     string // how they were mapped; a comparison with another mapping's rows means nothing
	Number uint32 // of the last comparison that found a change; 0 if there was none
	Since  uint32 // the first comparison of this mapping, which has no one before
	Rows   map[KeyHash]TrackedRow

	Removed      map[KeyHash]uint32 // Changes.Number of the comparison that no longer found the row
	RemovedAfter uint32             // Removed is complete for comparisons with a greater number
}

// Changes is what a comparison found.
type Changes struct {
	Number  uint32 // from 1, in the order in which a source is compared; a cursor
	At      time.Time
	First   bool // of a mapping: it counts no changes
	Rows    int  // with a key, of which there is no other
	Added   int
	Changed int
	Removed int
}

// Cursor returns where rows begin that were added or changed by c and later; after the first comparison only later.
func (c *Changes) Cursor() string {
	if c.First {
		return strconv.FormatUint(uint64(c.Number), 10)
	}
	return strconv.FormatUint(uint64(c.Number)-1, 10)
}

// TrackChanges sets the field by which rows are recognised in comparisons, empty for no comparisons. It must be mapped
// to a whole column. Requires the admin role, unless by owns s.
func (s *Source) TrackChanges(by identity.Actor, match revision.Match, field string) error {
	if err := s.allow(by, Manage, match); err != nil || field == s.ChangeKey {
		return err
	}
	if field != "" && !s.mayBeKey(field) {
		var errs fault.Fields
		errs.Add("/change_key", "not_allowed_value", "Must be a field that is mapped to a whole column.")
		return errs.Err()
	}
	s.Record(by, "source.tracked", string(s.ID), map[string]any{"field": event.Change{From: s.ChangeKey, To: field}})
	s.ChangeKey = field
	s.touch(by)
	return nil
}

func (s *Source) mayBeKey(field string) bool {
	return slices.ContainsFunc(s.Mapping, func(p Pair) bool { return p.Field == field && !p.Transform.IsPartial() })
}

// Compare brings t up to date with the rows that were read now, and returns what changed; nil if nothing did. version
// identifies how the rows are mapped.
func (t *Tracked) Compare(moment time.Time, version string, current RowHashes) *Changes {
	c := &Changes{Number: t.Number + 1, At: moment, First: t.Of != version || t.Number == 0, Rows: len(current)}
	if c.First {
		t.Of, t.Since, t.Rows = version, c.Number, nil
	}
	next := make(map[KeyHash]TrackedRow, len(current))
	for key, hash := range current {
		previous, isKnown := t.Rows[key]
		switch {
		case !isKnown && !c.First:
			c.Added++
		case isKnown && previous.Hash != hash:
			c.Changed++
		}
		if !isKnown || previous.Hash != hash {
			previous = TrackedRow{Hash: hash, Changed: c.Number}
		}
		next[key] = previous
	}
	for key := range t.Rows {
		if _, ok := current[key]; !ok {
			c.Removed++
		}
	}
	if !c.First && c.Added+c.Changed+c.Removed == 0 {
		return nil
	}
	t.noteRemoved(c, current)
	t.Number, t.Rows = c.Number, next
	return c
}

// noteRemoved notes which rows c no longer found, and forgets those that are back. The oldest are forgotten if there
// are more than MaxTracked.
func (t *Tracked) noteRemoved(c *Changes, current RowHashes) {
	if c.First {
		t.Removed, t.RemovedAfter = nil, c.Number
		return
	}
	for key := range current {
		delete(t.Removed, key)
	}
	if c.Removed == 0 {
		return
	}
	if t.Removed == nil {
		t.Removed = make(map[KeyHash]uint32, c.Removed)
	}
	for key := range t.Rows {
		if _, ok := current[key]; !ok {
			t.Removed[key] = c.Number
		}
	}
	if excess := len(t.Removed) - MaxTracked; excess > 0 {
		t.RemovedAfter = slices.Sorted(maps.Values(t.Removed))[excess-1]
		maps.DeleteFunc(t.Removed, func(_ KeyHash, number uint32) bool { return number <= t.RemovedAfter })
	}
}

// RemovedSince returns the keys of rows that were removed after the comparison with a number and are not back, in no
// meaningful order. ErrRemovedUnknown if some of them are no longer known.
func (t *Tracked) RemovedSince(number uint32) ([]KeyHash, error) {
	if number < t.RemovedAfter {
		return nil, ErrRemovedUnknown
	}
	var out []KeyHash
	for key, removedIn := range t.Removed {
		if removedIn > number {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b KeyHash) int { return bytes.Compare(a[:], b[:]) }) // the same for each request
	return out, nil
}

// IsUnchanged reports whether a row is as it was at the comparison with a number.
func (t *Tracked) IsUnchanged(key KeyHash, hash RowHash, generation uint32) bool {
	previous, isKnown := t.Rows[key]
	return isKnown && previous.Hash == hash && previous.Changed <= generation
}

// Allows returns nil if rows that are mapped like of can be compared with those at the comparison with a number:
// ErrUnknownCursor if there was none, ErrSourceChanged if their mapping was another one.
func (t *Tracked) Allows(version string, generation uint32) error {
	switch {
	case generation == 0 || generation > t.Number:
		return ErrUnknownCursor
	case t.Of != version || generation < t.Since:
		return ErrSourceChanged
	}
	return nil
}

// Compared records what a comparison of the rows of s found, unless it is the first one or found nothing.
func (s *Source) Compared(by identity.Actor, c *Changes) {
	if c == nil || c.First {
		return
	}
	s.Record(by, "source.rows_changed", string(s.ID), map[string]any{"added": c.Added, "changed": c.Changed,
		"removed": c.Removed, "cursor": c.Cursor()})
}
