package accounts

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSQLiteLooksUpAKeyByIndexes(t *testing.T) {
	store, closeDB, err := db.Open(t.Context(), db.Config{URL: secret.New("sqlite:" + filepath.Join(t.TempDir(),
		"a.db"))}, nil,
		sql.OpenDB)
	require.NoError(t, err)
	t.Cleanup(closeDB)
	rows, err := store.Rows(t.Context(), `EXPLAIN QUERY PLAN `+principalByHash, make([]byte, 32),
		identity.OrgID("o"))
	require.NoError(t, err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unusedCount int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unusedCount, &detail))
		steps = append(steps, detail)
	}
	require.NoError(t, rows.Err())
	plan := strings.Join(steps, "\n")
	if strings.Count(plan, "SEARCH") != 4 || strings.Contains(plan, "SCAN") {
		t.Error(plan)
	}
}
