package sqlstore_test

import (
	"testing"
)

func TestEventFollow(t *testing.T) {
	for engine, url := range engines {
		t.Run(engine, func(t *testing.T) {
			db, by, _ := signing(t, url(t))
			ws, other := happen(t, db, by, "followed", 1), happen(t, db, by, "not-followed", 1)
			link(t, db)
			has := func(c <-chan struct{}) bool {
				select {
				case <-c:
					return true
				default:
					return false
				}
			}
			change := func(number int) {
				if err := rename(t.Context(), db, by, ws, number); err != nil {
					t.Fatal(err)
				}
			}
			change(1)
			if has(db.Recorded()) {
				t.Error("a change is told to link it while no one follows")
			}
			events := db.Stores().Events
			news, stop := events.Follow(ws)
			_, stopOther := events.Follow(other)
			change(2)
			if !has(db.Recorded()) || has(news) {
				t.Error("a change is not told to link it, or is told to followers before it has its place")
			}
			link(t, db)
			if !has(news) {
				t.Error("a follower is not told of an event that has its place")
			}
			link(t, db)
			if has(news) || has(db.Recorded()) {
				t.Error("linking nothing, or linking itself, counts as a change")
			}
			stop()
			stopOther()
			if change(3); has(db.Recorded()) {
				t.Error("someone follows who has stopped")
			}
		})
	}
}
