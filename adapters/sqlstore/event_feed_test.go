package sqlstore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEventFeed(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			path := url(t)
			db, by, _ := signing(t, path)
			read := func(t *testing.T, ws identity.WorkspaceID, q event.FeedQuery) event.Feed {
				t.Helper()
				part, err := db.Stores().Events.Feed(t.Context(), by.Org, ws, q)
				require.NoError(t, err)
				return part
			}
			t.Run("an event is in the feed once it has its place", func(t *testing.T) {
				ws := happen(t, db, by, "fed", 3)
				isPart(t, read(t, ws, event.FeedQuery{Limit: 5}), event.Feed{First: 1})
				link(t, db)
				isPart(t, read(t, ws, event.FeedQuery{Limit: 5}), event.Feed{First: 1, Last: 3}, 1, 2, 3)
				isPart(t, read(t, ws, event.FeedQuery{Limit: 5, After: 3}), event.Feed{First: 1, Last: 3})
				isPart(t, read(t, ws, event.FeedQuery{Limit: 2}), event.Feed{First: 1, Last: 2, More: true}, 1, 2)
				isPart(t, read(t, ws, event.FeedQuery{Limit: 2, After: 2}), event.Feed{First: 1, Last: 3}, 3)
				// As after a restore from a backup, Last tells the reader where the feed ends now.
				isPart(t, read(t, ws, event.FeedQuery{Limit: 2, After: 9}), event.Feed{First: 1, Last: 3})
			})
			t.Run("filters leave out events and keep the position", func(t *testing.T) {
				ws := happen(t, db, by, "filtered", 3)
				link(t, db)
				changes := event.FeedQuery{Limit: 5, Types: []string{"workspace.updated", "a.made", "b.made"}}
				isPart(t, read(t, ws, changes), event.Feed{First: 1, Last: 3}, 2, 3)
				for _, f := range []event.Filter{
					{Type: "workspace.created"}, {Type: "workspace.created", Subject: string(ws)},
					{Type: "workspace.created", CreatedAfter: by.At.Add(-time.Second)}} {
					isPart(t, read(t, ws, event.FeedQuery{Limit: 5, Filter: f}), event.Feed{First: 1, Last: 3}, 1)
				}
				for _, f := range []event.Filter{{Type: "never"}, {Actor: "usr_other"}, {Subject: "other"},
					{CreatedAfter: by.At}, {Request: "other"}} {
					isPart(t, read(t, ws, event.FeedQuery{Limit: 5, Filter: f}), event.Feed{First: 1, Last: 3})
				}
			})
			t.Run("filters of time leave out both ends", func(t *testing.T) {
				ws := happen(t, db, by, "timed", 1)
				for i, offset := range []time.Duration{0, time.Minute, 2 * time.Minute} {
					laterActor := by
					laterActor.At = by.At.Add(offset)
					require.NoError(t, rename(t.Context(), db, laterActor, ws, i+1))
				}
				link(t, db)
				middle := event.Filter{CreatedAfter: by.At, CreatedBefore: by.At.Add(2 * time.Minute)}
				isPart(t, read(t, ws, event.FeedQuery{Limit: 5, Filter: middle}), event.Feed{First: 1, Last: 4}, 3)
				for before, want := range map[time.Duration]int{time.Hour: 4, time.Minute: 2, 0: 0, -2 * time.Hour: 0} {
					found, err := db.Stores().Events.List(t.Context(), ws,
						event.Filter{CreatedBefore: by.At.Add(before)}, page.Query{Limit: 5})
					if err != nil || len(found.Items) != want {
						t.Errorf("%d events before %s, %v", len(found.Items), before, err)
					}
				}
			})
			t.Run("a part examines a bounded number of events", func(t *testing.T) {
				ws := happen(t, db, by, "bounded", 7)
				link(t, db)
				small := open(t, path, databases.Keyring(t))
				sqlstore.BoundScans(small, 3)
				absent := event.FeedQuery{Limit: 5, Types: []string{"never"}}
				for _, want := range []event.Feed{{First: 1, Last: 3, More: true}, {First: 1, Last: 6, More: true},
					{First: 1, Last: 7}} {
					part, err := small.Stores().Events.Feed(t.Context(), by.Org, ws, absent)
					require.NoError(t, err)
					isPart(t, part, want)
					absent.After = part.Last
				}
			})
			t.Run("the first place shows what retention removed", func(t *testing.T) {
				old := by
				old.At = by.At.Add(-48 * time.Hour)
				ws := happen(t, db, old, "removed", 2)
				require.NoError(t, rename(t.Context(), db, by, ws, 1))
				link(t, db)
				require.NoError(t, db.Sweep(t.Context(), by.At, 24*time.Hour))
				isPart(t, read(t, ws, event.FeedQuery{Limit: 5}), event.Feed{First: 3, Last: 3}, 3)
			})
			t.Run("another org reads nothing", func(t *testing.T) {
				ws := happen(t, db, by, "foreign", 2)
				link(t, db)
				part, err := db.Stores().Events.Feed(t.Context(), "org_other", ws, event.FeedQuery{Limit: 5})
				require.NoError(t, err)
				isPart(t, part, event.Feed{First: 1})
			})
			t.Run("readers beside writers miss nothing and read nothing twice", func(t *testing.T) {
				followsAll(t, db, open(t, path, databases.Keyring(t)), by)
			})
		})
	}
}

// isPart checks a part of a feed, and the places of its events.
func isPart(t *testing.T, got, want event.Feed, seqs ...int64) {
	t.Helper()
	if !slices.Equal(seqsOf(got), seqs) || got.First != want.First || got.Last != want.Last || got.More != want.More {
		t.Errorf("got %v of %d to %d, more: %v; want %v of %d to %d, more: %v", seqsOf(got), got.First, got.Last,
			got.More, seqs, want.First, want.Last, want.More)
	}
}

func seqsOf(f event.Feed) (seqs []int64) {
	for _, e := range f.Items {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// followsAll lets 8 writers on two nodes write, and 3 readers follow until each has read everything.
func followsAll(t *testing.T, db, other *sqlstore.Store, by identity.Actor) {
	other.SignEvents(databases.Digester("key"))
	ws := happen(t, db, by, "followed", 1)
	const writers, each, readers = 8, 10, 3
	nodes := []*sqlstore.Store{db, other}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := rename(t.Context(), nodes[w%2], by, ws, w*each+i); err != nil {
					t.Error(err)
					return
				}
				if err := nodes[w%2].Events().Link(t.Context(), time.Now()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	reports := make([][]int64, readers)
	for r := range readers {
		all.Go(func() {
			for current := int64(0); current < writers*each+1; {
				part, err := nodes[r%2].Stores().Events.Feed(t.Context(), by.Org, ws,
					event.FeedQuery{After: current, Limit: r + 2})
				if err != nil || t.Failed() {
					t.Error(err)
					return
				}
				reports[r] = append(reports[r], seqsOf(part)...)
				current = part.Last
			}
		})
	}
	all.Wait()
	var want []int64
	for i := range int64(writers*each + 1) {
		want = append(want, i+1)
	}
	for r := range reports {
		if !slices.Equal(reports[r], want) {
			t.Errorf("reader %d read %s", r, fmt.Sprint(reports[r]))
		}
	}
}
