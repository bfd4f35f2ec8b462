package sqlstore_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEventFollow(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			path := url(t)
			db, by, _ := signing(t, path)
			ws, unfollowedWorkspace := happen(t, db, by, "followed", 1), happen(t, db, by, "not-followed", 1)
			link(t, db)
			contains := func(c <-chan struct{}) bool {
				select {
				case <-c:
					return true
				default:
					return false
				}
			}
			change := func(number int) {
				require.NoError(t, rename(t.Context(), db, by, ws, number))
			}
			change(1)
			if contains(db.Recorded()) {
				t.Error("a change is told to link it while no one follows")
			}
			events := db.Stores().Events
			news, stop := events.Follow(ws)
			_, stopOther := events.Follow(unfollowedWorkspace)
			link(t, db)
			if !contains(news) || !db.Followed() { // the first time, what it knows is not known
				t.Error("a follower is not told where the feed ends")
			}
			change(2)
			if !contains(db.Recorded()) || contains(news) {
				t.Error("a change is not told to link it, or is told to followers before it has its place")
			}
			link(t, db)
			if !contains(news) {
				t.Error("a follower is not told of an event that has its place")
			}
			link(t, db)
			if contains(news) || contains(db.Recorded()) {
				t.Error("linking nothing, or linking itself, counts as a change")
			}
			other := open(t, path, databases.Keyring(t))
			other.SignEvents(databases.Digester("key"))
			require.NoError(t, rename(t.Context(), other, by, ws, 3))
			link(t, other)
			if contains(news) {
				t.Error("a follower is told by another node")
			}
			if link(t, db); !contains(news) {
				t.Error("a follower is not told of an event that another node has linked")
			}
			stop()
			stopOther()
			if change(4); contains(db.Recorded()) || db.Followed() {
				t.Error("someone follows who has stopped")
			}
		})
	}
}
