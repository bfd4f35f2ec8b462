package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// deliveriesThatWait checks what a delivery that fails holds back: the later ones about its subject only.
func deliveriesThatWait(t *testing.T, a Adapter) {
	ctx, now := t.Context(), fixture.At
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	e, queue := addWebhook(t, a, team), a.WebhookQueue()
	records := fixture.Events(t, a.Stores, team.Workspace.ID, event.Filter{Type: "webhook.created"}, 100)
	next := func(instant time.Time) []webhook.Delivery {
		t.Helper()
		due, err := queue.Next(ctx, e.ID, instant, 5)
		must(t, err)
		return due
	}
	settle := func(d webhook.Delivery, status int, instant time.Time) {
		t.Helper()
		by := team.Admin
		by.At = instant
		d.Ended(webhook.Outcome{Status: status}, instant, 0.5)
		_, err := queue.Settle(ctx, by, e, []webhook.Delivery{d}, func(*webhook.Endpoint) []job.Job { return nil })
		must(t, err)
	}

	const stuck = 50
	var all []webhook.Delivery
	for i := range stuck + 1 {
		record := records[0]
		// Retention has removed these events.
		record.ID, record.Seq, record.Subject = id.New(event.Prefix), int64(i+2), "stuck"
		if i == stuck {
			record.ID, record.Subject = records[0].ID, "other"
		}
		all = append(all, e.NewDelivery(record, now))
	}
	must(t, queue.Queue(ctx, e, all, stuck+2))
	pending, err := queue.Pending(ctx, e.ID)
	must(t, err)
	if due := next(now); pending != 2 || len(due) != 2 || due[1].Event.Subject != "other" {
		t.Errorf("%d count as pending; due are %+v", pending, due)
	}
	settle(next(now)[0], 500, now)
	settle(next(now)[0], 200, now)
	if due := next(now); len(due) != 0 {
		t.Errorf("due are %+v", due)
	}
	must(t, queue.Release(ctx, e, time.Time{}))
	got := leased(t, a, now.Add(4*time.Second))
	if slices.ContainsFunc(got, func(one webhook.Endpoint) bool { return one.ID == e.ID }) {
		t.Error("the endpoint is due before the delivery that holds back all others")
	}
	due := next(now.Add(5 * time.Second))
	if len(due) != 1 || !due[0].EventRemoved || due[0].Event.Seq != 2 {
		t.Fatalf("due are %+v", due)
	}
	due[0].Abandon()
	by := team.Admin
	by.At = now.Add(time.Minute)
	_, err = queue.Settle(ctx, by, e, due, func(*webhook.Endpoint) []job.Job { return nil })
	must(t, err)
	if due := next(now.Add(time.Minute)); len(due) != 1 || due[0].Event.Seq != 3 {
		t.Errorf("after one whose event is gone, due are %+v", due)
	}
	listedOf, err := a.Webhooks.Deliveries(ctx, team.Workspace.ID, e.ID, webhook.DeliveryFilter{State: webhook.Failed},
		page.Query{Limit: 5})
	must(t, err)
	if len(listedOf.Items) != 1 || listedOf.Items[0].Last.Failure != webhook.EventRemoved {
		t.Errorf("listed are %+v", listedOf.Items)
	}
	listedOf, err = a.Webhooks.Deliveries(ctx, team.Workspace.ID, e.ID, webhook.DeliveryFilter{State: webhook.Pending},
		page.Query{Limit: 1})
	must(t, err)
	if !listedOf.Items[0].Due.IsZero() {
		t.Errorf("one that waits is due %s", listedOf.Items[0].Due)
	}
}
