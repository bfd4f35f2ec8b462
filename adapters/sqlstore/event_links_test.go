package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEventsAreMovedWhenTheyAreLinked(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			db, by, direct := signing(t, url(t))
			list := func(t *testing.T, ws identity.WorkspaceID, f event.Filter) (places []int64, ids []string) {
				t.Helper()
				for q := (page.Query{Limit: 2}); ; {
					part, err := db.Stores().Events.List(t.Context(), ws, f, q)
					require.NoError(t, err)
					for _, e := range part.Items {
						places, ids = append(places, e.Seq), append(ids, e.ID)
					}
					if q.After = part.Next; q.After == "" {
						return places, ids
					}
				}
			}
			t.Run("a list shows events before they have their places and after", func(t *testing.T) {
				ws := happen(t, db, by, "listed", 3)
				link(t, db)
				for i := range 2 {
					require.NoError(t, rename(t.Context(), db, by, ws, i))
				}
				places, ids := list(t, ws, event.Filter{})
				if want := []int64{0, 0, 3, 2, 1}; !slices.Equal(places, want) {
					t.Errorf("places %v, want %v", places, want)
				}
				if item, _ := list(t, ws, event.Filter{Type: "workspace.updated"}); !slices.Equal(item, places[:4]) {
					t.Errorf("of one type: %v", item)
				}
				link(t, db)
				moves, current := list(t, ws, event.Filter{})
				if want := []int64{5, 4, 3, 2, 1}; !slices.Equal(moves, want) || !slices.Equal(current, ids) {
					t.Errorf("places %v, want %v; ids %v, want %v", moves, want, current, ids)
				}
				isEmpty(t, direct)
			})
			t.Run("events of this release and of the one before are linked in the order of their ids",
				func(t *testing.T) {
					ws := happen(t, db, by, "mixed", 7)
					_, ids := list(t, ws, event.Filter{})
					slices.Reverse(ids)
					for _, id := range []string{ids[1], ids[2], ids[5]} { // as the release before has written them
						const columns = `id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data,
						created_at, request_id, address, signature, revision`
						direct.MustExec(direct.Rebind(`INSERT INTO events (`+columns+`) SELECT `+columns+`
						FROM new_events WHERE id = ?`), id)
						direct.MustExec(direct.Rebind(`DELETE FROM new_events WHERE id = ?`), id)
					}
					holds(t, verified(t, db, ws), 0, 7, 0)
					link(t, db)
					holds(t, verified(t, db, ws), 7, 0, 0)
					places, next := list(t, ws, event.Filter{})
					slices.Reverse(next)
					if want := []int64{7, 6, 5, 4, 3, 2, 1}; !slices.Equal(places, want) || !slices.Equal(next, ids) {
						t.Errorf("places %v, want %v; ids %v, want %v", places, want, next, ids)
					}
				})
			t.Run("events of a chain that was changed are moved and get no places", func(t *testing.T) {
				ws := happen(t, db, by, "altered", 2)
				link(t, db)
				direct.MustExec(direct.Rebind(`UPDATE event_chains SET seq = 1 WHERE workspace_id = ?`), ws)
				require.NoError(t, rename(t.Context(), db, by, ws, 1))
				for range 2 {
					assert.ErrorIs(t, db.Events().Link(t.Context(), time.Now()), events.ErrChainChanged)
				}
				isEmpty(t, direct)
				if places, _ := list(t, ws, event.Filter{}); !slices.Equal(places, []int64{0, 2, 1}) {
					t.Errorf("places %v", places)
				}
			})
		})
	}
}

// isEmpty fails unless all events were moved.
func isEmpty(t *testing.T, db *sqlx.DB) {
	t.Helper()
	var remainder int
	if err := db.Get(&remainder, `SELECT COUNT(*) FROM new_events`); err != nil || remainder != 0 {
		t.Errorf("%d events were not moved: %v", remainder, err)
	}
}
