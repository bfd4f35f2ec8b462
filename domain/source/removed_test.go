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
	keptTracked := new(source.Tracked)
	remove := func(startCount uint32, want ...int) {
		t.Helper()
		got, err := keptTracked.RemovedSince(startCount)
		require.NoError(t, err)
		var keys []source.KeyHash
		for _, n := range want {
			keys = append(keys, numberedKey(n))
		}
		if !slices.Equal(got, keys) {
			t.Errorf("since %d: %v", startCount, got)
		}
	}
	keptTracked.Compare(now, "a", numbered(1, 5))
	remove(1)
	keptTracked.Compare(now, "a", numbered(2, 5))
	keptTracked.Compare(now, "a", numbered(3, 4))
	remove(1, 1, 2, 5)
	remove(2, 2, 5)
	remove(3)
	keptTracked.Compare(now, "a", numbered(2, 4))
	remove(1, 1, 5)
	remove(2, 5)
	keptTracked.Compare(now, "b", numbered(2, 2))
	remove(5)
	_, err := keptTracked.RemovedSince(4)
	require.ErrorIs(t, err, source.ErrRemovedUnknown)
}

func TestTheOldestRemovedRowsAreForgotten(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	keptValue := new(source.Tracked)
	keptValue.Compare(now, "a", numbered(1, 10))
	keptValue.Compare(now, "a", numbered(2, 10))                                // 2: removes one
	keptValue.Compare(now, "a", numbered(100_001, 100_000+source.MaxTracked-9)) // 3: removes nine
	know := func(rows int, next uint32) {
		t.Helper()
		if got, err := keptValue.RemovedSince(next); err != nil || len(got) != rows || len(keptValue.Removed) != rows {
			t.Errorf("%d of %d rows, %v", len(got), len(keptValue.Removed), err)
		}
		_, err := keptValue.RemovedSince(next - 1)
		require.ErrorIs(t, err, source.ErrRemovedUnknown)
	}
	know(10, 1)
	keptValue.Compare(now, "a", numbered(200_001, 200_001)) // 4: removes all but nine of the most, so 2 is forgotten
	know(source.MaxTracked, 2)
	keptValue.Compare(now, "a", numbered(300_001, 300_001)) // 5: removes one, so all of 3 are forgotten
	know(source.MaxTracked-8, 3)
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
