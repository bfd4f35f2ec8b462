package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNotesThatAreRepeatedCostNoAccess(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		team := fixture.NewTeam(t, db.Stores(), ids["one"])
		note := func(instant time.Time) event.Note {
			n := event.Refused(team.Member, "deleteThing", true, identity.ErrRoleCeiling)
			n.By.At = instant
			return n
		}
		tamper, notes := databases.Unguarded(t, url), events.NewNotes(db.DB)
		var failures []error
		notes.Report(func(err error) { failures = append(failures, err) })
		rename := func(from, to string) {
			t.Helper()
			if _, err := tamper.ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
				t.Fatal(err)
			}
		}
		writtenCount := func() (n int) {
			t.Helper()
			require.NoError(t, tamper.GetContext(t.Context(), &n,
				`SELECT COUNT(*) FROM recorded_events WHERE type = 'access.refused'`))
			return n
		}
		currentAt := team.Member.At
		rename("event_marks", "gone")
		notes.Note(t.Context(), note(currentAt))
		notes.Note(t.Context(), note(currentAt.Add(time.Second)))
		if len(failures) != 1 {
			t.Fatalf("a failure was reported %d times: %v", len(failures), failures)
		}
		rename("gone", "event_marks")
		notes.Note(t.Context(), note(currentAt.Add(2*time.Minute)))
		if len(failures) != 1 || writtenCount() != 1 {
			t.Fatalf("%d events after a later try, %v", writtenCount(), failures)
		}
		rename("event_marks", "gone")
		for range 100 {
			notes.Note(t.Context(), note(currentAt.Add(3*time.Minute)))
		}
		if len(failures) != 1 {
			t.Fatalf("the database was asked: %v", failures[1:])
		}
		rename("gone", "event_marks")
		require.NoError(t, db.Sweep(t.Context(), currentAt.Add(2*time.Hour), 400*24*time.Hour))
		var marks int
		if err := tamper.GetContext(t.Context(), &marks, `SELECT COUNT(*) FROM event_marks`); err != nil || marks != 0 {
			t.Errorf("%d marks are left: %v", marks, err)
		}
	})
}
