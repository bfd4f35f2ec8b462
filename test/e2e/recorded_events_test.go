package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/fixture"
)

// checkEvents compares every event that the deployment has recorded with the catalogue of events in the contract. A
// test that damages the database, or ends before there is one, has no events to compare.
func (d *deployment) checkEvents(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(d.data, "atrium.db")); d.database == "" && err != nil {
		return
	}
	db := d.open(t)
	defer db.Close()
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
		if err := fixture.CheckEventData(kind, data); err != nil {
			t.Errorf("a recorded event is not as the contract describes it: %v", err)
		}
	}
}

func init() {
	examples["listEventTypes"] = plainly(nil)
	examples["streamEvents"] = plainly(nil)
	examples["verifyEvents"] = plainly(nil)
}
