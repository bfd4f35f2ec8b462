package source_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

// numbered returns the rows with the keys from first to last.
func numbered(first, last int) source.RowHashes {
	rows := source.RowHashes{}
	for n := first; n <= last; n++ {
		rows[numberedKey(n)] = source.RowHash{1}
	}
	return rows
}

func numberedKey(n int) (key source.KeyHash) {
	binary.BigEndian.PutUint32(key[:], uint32(n))
	return key
}

func TestRemovedRowsAreKnownUntilTheyAreBack(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	kept := new(source.Tracked)
	removed := func(since uint32, want ...int) {
		t.Helper()
		got, err := kept.RemovedSince(since)
		require.NoError(t, err)
		var keys []source.KeyHash
		for _, n := range want {
			keys = append(keys, numberedKey(n))
		}
		if !slices.Equal(got, keys) {
			t.Errorf("since %d: %v", since, got)
		}
	}
	kept.Compare(now, "a", numbered(1, 5))
	removed(1)
	kept.Compare(now, "a", numbered(2, 5))
	kept.Compare(now, "a", numbered(3, 4))
	removed(1, 1, 2, 5)
	removed(2, 2, 5)
	removed(3)
	kept.Compare(now, "a", numbered(2, 4))
	removed(1, 1, 5)
	removed(2, 5)
	kept.Compare(now, "b", numbered(2, 2))
	removed(5)
	_, err := kept.RemovedSince(4)
	require.ErrorIs(t, err, source.ErrRemovedUnknown)
}

func TestTheOldestRemovedRowsAreForgotten(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	kept := new(source.Tracked)
	kept.Compare(now, "a", numbered(1, 10))
	kept.Compare(now, "a", numbered(2, 10))                                // 2: removes one
	kept.Compare(now, "a", numbered(100_001, 100_000+source.MaxTracked-9)) // 3: removes nine
	known := func(rows int, after uint32) {
		t.Helper()
		if got, err := kept.RemovedSince(after); err != nil || len(got) != rows || len(kept.Removed) != rows {
			t.Errorf("%d of %d rows, %v", len(got), len(kept.Removed), err)
		}
		_, err := kept.RemovedSince(after - 1)
		require.ErrorIs(t, err, source.ErrRemovedUnknown)
	}
	known(10, 1)
	kept.Compare(now, "a", numbered(200_001, 200_001)) // 4: removes all but nine of the most, so 2 is forgotten
	known(source.MaxTracked, 2)
	kept.Compare(now, "a", numbered(300_001, 300_001)) // 5: removes one, so all of 3 are forgotten
	known(source.MaxTracked-8, 3)
}

func TestAComparisonHasAtMostTheHashesThatAreKept(t *testing.T) {
	rows := numbered(1, source.MaxTracked)
	require.NoError(t, rows.Add(numberedKey(1), source.RowHash{}))
	require.ErrorIs(t, rows.Add(numberedKey(source.MaxTracked+1), source.RowHash{}), source.ErrTooManyRows)
	if len(rows) != source.MaxTracked {
		t.Errorf("%d hashes are kept", len(rows))
	}
}

func TestTheFirstRowWithAKeyIsCompared(t *testing.T) {
	rows := source.RowHashes{}
	require.NoError(t, rows.Add(source.KeyHash{1}, source.RowHash{1}))
	require.NoError(t, rows.Add(source.KeyHash{1}, source.RowHash{2}))
	if len(rows) != 1 || rows[source.KeyHash{1}] != (source.RowHash{1}) {
		t.Errorf("%v", rows)
	}
}
