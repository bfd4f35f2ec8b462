package source_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAComparisonCountsWhatChanged(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	key := func(b byte) source.KeyHash { return source.KeyHash{b} }
	rows := func(pairs ...byte) source.RowHashes {
		out := source.RowHashes{}
		for i := 0; i < len(pairs); i += 2 {
			out[key(pairs[i])] = source.RowHash{pairs[i+1]}
		}
		return out
	}
	keptTracked := new(source.Tracked)
	require.ErrorIs(t, keptTracked.Allows("a", 1), source.ErrUnknownCursor)
	first := keptTracked.Compare(now, "a", rows(1, 1, 2, 1, 3, 1))
	if !first.First || first.Number != 1 || first.Rows != 3 || first.Added+first.Changed+first.Removed != 0 ||
		first.Cursor() != "1" {
		t.Errorf("%+v", first)
	}
	if repeat := keptTracked.Compare(now, "a", rows(1, 1, 2, 1, 3, 1)); repeat != nil || keptTracked.Number != 1 {
		t.Errorf("the same rows: %+v", repeat)
	}
	second := keptTracked.Compare(now, "a", rows(1, 1, 2, 9, 4, 1, 5, 1))
	if second.First || second.Number != 2 || second.Added != 2 || second.Changed != 1 || second.Removed != 1 ||
		second.Rows != 4 || second.Cursor() != "1" {
		t.Errorf("%+v", second)
	}
	for name, c := range map[string]struct {
		key, hash byte
		since     uint32
		unchanged bool
	}{
		"a row that stayed":                      {1, 1, 1, true},
		"a row that was changed then":            {2, 9, 1, false},
		"a row that was changed before":          {2, 9, 2, true},
		"a row that has changed since":           {1, 7, 2, false},
		"a row that is new since the comparison": {8, 1, 2, false},
	} {
		assert.Equal(t, name+": IsUnchanged", keptTracked.IsUnchanged(key(c.key), source.RowHash{c.hash}, c.since),
			c.unchanged)
	}
	require.NoError(t, keptTracked.Allows("a", 1))
	require.ErrorIs(t, keptTracked.Allows("a", 0), source.ErrUnknownCursor)
	require.ErrorIs(t, keptTracked.Allows("a", 3), source.ErrUnknownCursor)
	require.ErrorIs(t, keptTracked.Allows("b", 1), source.ErrSourceChanged)
	if third := keptTracked.Compare(now, "b", rows(1, 1)); !third.First || third.Removed != 0 || third.Number != 3 {
		t.Errorf("another mapping: %+v", third)
	}
	require.ErrorIs(t, keptTracked.Allows("b", 2), source.ErrSourceChanged)
	require.NoError(t, keptTracked.Allows("b", 3))
}

func TestRowsAreComparedByAFieldThatIsAWholeColumn(t *testing.T) {
	by := actor("ann", identity.Member)
	r := source.Reading{Location: source.Location{Sheet: source.SheetLocation{URL: "https://files.example.com/c.csv"}},
		Columns: guestColumns}
	pairs := []source.Pair{{Field: "first", Column: "Name"},
		{Field: "last", Column: "Extra", Transform: column.Transform{Split: &column.Split{Part: column.Last}}}}
	s, err := source.New(by, guests, source.Draft{Type: "guests", Location: r.Location, Mapping: pairs}, r, 0)
	require.NoError(t, err)
	require.ErrorIs(t, s.TrackChanges(actor("pia", identity.Member), nil, "first"), source.ErrForbidden)
	for _, field := range []string{"last", "born", "nothing"} {
		if problems := wrongIn(s.TrackChanges(by, nil, field)); len(problems) != 1 || s.ChangeKey != "" {
			t.Errorf("%s: %v", field, problems)
		}
	}
	require.NoError(t, s.TrackChanges(by, nil, "first"))
	if s.ChangeKey != "first" || s.Revision != 2 {
		t.Errorf("%q, revision %d", s.ChangeKey, s.Revision)
	}
	s.Compared(by, nil)
	s.Compared(by, &source.Changes{Number: 1, First: true})
	s.Compared(by, &source.Changes{Number: 2, Added: 1})
	events := s.RecordedAt(1, string(s.ID))
	if last := events[len(events)-1]; len(events) != 3 || last.Type != "source.rows_changed" ||
		last.Data["cursor"] != "1" {
		t.Errorf("%+v", events)
	}
	require.NoError(t, s.Map(by, nil, guests, []source.Pair{{Field: "first", Column: "Born"}}, r))
	if s.ChangeKey != "first" {
		t.Error("a mapping with the key ends the comparisons")
	}
	partial := []source.Pair{{Field: "first", Column: "Name", Transform: pairs[1].Transform}}
	require.NoError(t, s.Map(by, nil, guests, partial, r))
	if s.ChangeKey != "" {
		t.Errorf("the key is %q, which is a part of a column", s.ChangeKey)
	}
}
