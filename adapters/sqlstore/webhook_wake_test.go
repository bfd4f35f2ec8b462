package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestLinkingEventsWakesEndpoints(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			db, by, _ := signing(t, url(t))
			by.Workspace, by.User, by.Role = happen(t, db, by, "woken", 1), "usr_a", identity.Admin
			link(t, db)
			queue, store := sqlstore.NewWebhookQueue(db), db.Stores().Webhooks
			var e *webhook.Endpoint
			require.NoError(t, store.Add(t.Context(), by, func(n int, place int64) (_ *webhook.Endpoint, err error) {
				e, err = webhook.New(by, n, place, webhook.Draft{URL: "https://example.com", Events: []string{"*"}})
				return e, err
			}))
			takes := func(instant time.Time) bool {
				t.Helper()
				all, err := queue.Take(t.Context(), instant, time.Minute, 5, nil)
				require.NoError(t, err)
				if len(all) == 1 {
					e = &all[0]
				}
				return len(all) == 1
			}
			release := func(due time.Time) {
				t.Helper()
				require.NoError(t, queue.Release(t.Context(), e, due))
				e.LeasedUntil = time.Time{}
			}
			fails := func(times int) {
				t.Helper()
				if _, err := queue.Settle(t.Context(), by, e, nil, func(e *webhook.Endpoint) []job.Job {
					e.Failures = times
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			change := func(number int) {
				t.Helper()
				require.NoError(t, rename(t.Context(), db, by, by.Workspace, number))
				link(t, db)
			}
			link(t, db) // its own creation
			future := time.Now().Add(time.Minute)
			if !takes(future) {
				t.Error("an endpoint is not woken by a new event")
			}
			if release(time.Time{}); takes(future) {
				t.Error("an endpoint that has nothing to deliver stays due")
			}
			fails(webhook.SoloFailures)
			if change(1); !takes(future) {
				t.Error("an endpoint that failed and has nothing pending is never woken again")
			}
			if change(2); takes(future) {
				t.Error("it is taken twice")
			}
			release(future.Add(time.Hour))
			if change(3); takes(future.Add(time.Minute)) {
				t.Error("a failing endpoint is tried before its time")
			}
			if !takes(future.Add(2 * time.Hour)) {
				t.Error("a failing endpoint is not tried at its time")
			}
			fails(0)
			if err := queue.Queue(t.Context(), e, []webhook.Delivery{e.NewDelivery(event.Event{ID: "evt_gone", Seq: 1,
				Subject: "s", Type: "workspace.created"}, by.At)}, e.Place+1); err != nil {
				t.Fatal(err)
			}
			due, err := queue.Next(t.Context(), e.ID, future, 5)
			if err != nil || len(due) != 1 || !due[0].EventRemoved {
				t.Fatalf("of an event that retention removed: %+v, %v", due, err)
			}
			due[0].Abandon()
			if _, err := queue.Settle(t.Context(), by, e, due,
				func(*webhook.Endpoint) []job.Job { return nil }); err != nil {
				t.Fatal(err)
			}
			if release(time.Time{}); takes(future.Add(1000 * time.Hour)) {
				t.Error("a delivery whose event was removed keeps the endpoint due for ever")
			}
		})
	}
}

func TestTheSweepWakesDeliveriesThatWaitForNothing(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			db, by, tamper := signing(t, url(t))
			by.Workspace, by.User, by.Role = happen(t, db, by, "swept", 1), "usr_a", identity.Admin
			queue, store := sqlstore.NewWebhookQueue(db), db.Stores().Webhooks
			var e *webhook.Endpoint
			require.NoError(t, store.Add(t.Context(), by, func(n int, place int64) (_ *webhook.Endpoint, err error) {
				e, err = webhook.New(by, n, place, webhook.Draft{URL: "https://example.com", Events: []string{"*"}})
				return e, err
			}))
			var all []webhook.Delivery
			for i, id := range []string{"evt_1", "evt_2", "evt_3"} {
				all = append(all, e.NewDelivery(event.Event{ID: id, Seq: int64(i + 1), Subject: "s"}, by.At))
			}
			require.NoError(t, queue.Queue(t.Context(), e, all, e.Place+3))
			// As a release does that knows no waiting deliveries.
			if _, err := tamper.Exec(`UPDATE webhook_deliveries SET state = 'delivered' WHERE seq = 1`); err != nil {
				t.Fatal(err)
			}
			instant := by.At.Add(time.Hour)
			if due, err := queue.Next(t.Context(), e.ID, instant, 5); err != nil || len(due) != 0 {
				t.Fatalf("due are %+v, %v", due, err)
			}
			require.NoError(t, db.Sweep(t.Context(), instant, 1000*time.Hour))
			due, err := queue.Next(t.Context(), e.ID, instant, 5)
			if err != nil || len(due) != 1 || due[0].Event.Seq != 2 {
				t.Errorf("due are %+v, %v", due, err)
			}
			if batch, err := queue.Take(t.Context(), instant, time.Minute, 5, nil); err != nil || len(batch) != 1 {
				t.Errorf("taken are %+v, %v", batch, err)
			}
		})
	}
}
