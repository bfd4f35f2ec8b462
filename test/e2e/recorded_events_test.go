package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

// checkEvents compares every event that the deployment has recorded with the catalogue of events in the contract. A
// test that damages the database, or ends before there is one, has no events to compare.
func (d *deployment) checkEvents(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(d.data, "atrium.db")); d.database == "" && err != nil {
		return
	}
	d.ask(t, func(db *sql.DB) {
		rows, err := db.Query(`SELECT DISTINCT type, data FROM recorded_events`)
		if err != nil {
			return
		}
		defer rows.Close()
		for rows.Next() {
			var kind, data string
			if err := rows.Scan(&kind, &data); err != nil {
				return
			}
			if err := conformance.CheckEventData(kind, data); err != nil {
				t.Errorf("a recorded event is not as the contract describes it: %v", err)
			}
		}
	})
}

// refused begins the Request-Id of requests that are to be refused. The operation follows.
const refused = "refused-"

// testNothingRecorded expects that the requests that were refused have changed nothing: no event but of the refusal.
func (h *testWorkspace) testNothingRecorded(t *testing.T) {
	t.Helper()
	rows, err := h.db.QueryContext(t.Context(), `SELECT request_id, type, data FROM recorded_events
		WHERE request_id LIKE '`+refused+`%' AND type NOT IN ('access.refused', 'api_key.refused', 'user.signed_in',
		'sign_in.refused')`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var request, kind, data string
		require.NoError(t, rows.Scan(&request, &kind, &data))
		t.Errorf("who was refused left an event: %s %s %s", request, kind, data)
	}
	assert.NoError(t, rows.Err())
}
