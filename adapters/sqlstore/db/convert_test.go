package db_test

import (
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTryConvertStopsAtTheFirstRowThatCannotBeConverted(t *testing.T) {
	read := 0
	convert := func(row *string) (int, error) {
		read++
		return strconv.Atoi(*row)
	}
	got, err := db.TryConvert([]string{"1", "2"}, convert)
	require.NoError(t, err)
	assert.EqualSlice(t, "values", got, []int{1, 2})

	read = 0
	got, err = db.TryConvert([]string{"1", "x", "3", "y"}, convert)
	assert.ErrorIs(t, err, strconv.ErrSyntax)
	assert.EqualSlice(t, "values beside an error", got, nil)
	assert.Equal(t, "rows read", read, 2)
}
