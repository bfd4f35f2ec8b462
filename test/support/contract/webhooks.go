package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Webhooks is the suite for ports.Webhooks and ports.WebhookQueue.
func Webhooks(t *testing.T, open Opener) {
	a := open(t)
	t.Run("endpoints of a workspace", func(t *testing.T) { endpointsKept(t, a) })
	t.Run("leases", func(t *testing.T) { endpointsLeased(t, a) })
	t.Run("deliveries", func(t *testing.T) { deliveriesKept(t, a) })
	t.Run("deliveries that wait", func(t *testing.T) { deliveriesThatWait(t, a) })
}

// addWebhook stores an endpoint of team's workspace.
func addWebhook(t testing.TB, a Adapter, team *fixture.Team) *webhook.Endpoint {
	t.Helper()
	var e *webhook.Endpoint
	must(t, a.Webhooks.Add(t.Context(), team.Admin, func(count int, place int64) (_ *webhook.Endpoint, err error) {
		e, err = webhook.New(team.Admin, count, place, webhook.Draft{URL: "https://example.com/x", Description: "d",
			Events: []string{"member.*", "*"}, Headers: []string{"X-A"}, Sealed: []byte{0, 1, 255}})
		return e, err
	}))
	return e
}

func endpointsKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, stranger := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	first, second := addWebhook(t, a, team), addWebhook(t, a, team)
	found, err := a.Webhooks.Get(ctx, team.Workspace.ID, first.ID)
	must(t, err)
	same(t, "the endpoint", found, first)
	all, err := a.Webhooks.List(ctx, team.Workspace.ID)
	must(t, err)
	same(t, "the list", all, []webhook.Endpoint{*second, *first})
	if events := eventsOn(t, a.Stores, team.Workspace.ID, string(first.ID)); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	for name, call := range map[string]func() error{
		"get": func() error { _, err := a.Webhooks.Get(ctx, stranger.Workspace.ID, first.ID); return err },
		"update": func() error {
			_, err := a.Webhooks.Update(ctx, stranger.Admin, first.ID,
				func(*webhook.Endpoint, int64) error { return nil })
			return err
		},
		"replay": func() error {
			_, err := a.Webhooks.Replay(ctx, stranger.Workspace.ID, first.ID, nil, false, fixture.At)
			return err
		},
	} {
		t.Run(name+" of another workspace", func(t *testing.T) { wantErr(t, call(), webhook.ErrNotFound) })
	}
	changedEndpoint, err := a.Webhooks.Update(ctx, team.Admin, first.ID, func(e *webhook.Endpoint, _ int64) error {
		e.Failures, e.FailingSince, e.SucceededAt = 3, fixture.At, fixture.At.Add(time.Second)
		return e.Change(team.Admin, nil, 9, webhook.Changes{Enabled: new(false), Events: &[]string{"group.created"}})
	})
	must(t, err)
	found, err = a.Webhooks.Get(ctx, team.Workspace.ID, first.ID)
	must(t, err)
	same(t, "the changed endpoint", found, changedEndpoint)
	_, err = a.Webhooks.Update(ctx, team.Admin, first.ID, func(e *webhook.Endpoint, _ int64) error {
		return e.Delete(team.Admin, nil)
	})
	must(t, err)
	_, err = a.Webhooks.Get(ctx, team.Workspace.ID, first.ID)
	wantErr(t, err, webhook.ErrNotFound)
}

// leased returns the endpoints that a node takes.
func leased(t *testing.T, a Adapter, now time.Time, other ...identity.OrgID) []webhook.Endpoint {
	t.Helper()
	all, err := a.WebhookQueue().Take(t.Context(), now, time.Minute, 10, other)
	must(t, err)
	return all
}

func endpointsLeased(t *testing.T, a Adapter) {
	ctx, now := t.Context(), fixture.At
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	e, queue := addWebhook(t, a, team), a.WebhookQueue()
	takes := func(instant time.Time, want int, name string) (holding *webhook.Endpoint) {
		t.Helper()
		got := leased(t, a, instant)
		if len(got) != want || (want == 1 && got[0].ID != e.ID) {
			t.Fatalf("%s: taken are %+v", name, got)
		}
		if want == 1 {
			holding = &got[0]
		}
		return holding
	}
	replay := func() {
		t.Helper()
		_, err := a.Webhooks.Replay(ctx, team.Workspace.ID, e.ID, nil, false, now)
		must(t, err)
	}
	takes(now, 0, "without anything to deliver")
	replay()
	if got := leased(t, a, now, a.Orgs[0]); len(got) != 0 {
		t.Errorf("%+v are taken although their org is left out", got)
	}
	heldEndpoint := takes(now, 1, "when it is due")
	if time.Until(heldEndpoint.LeasedUntil).Round(time.Minute) != time.Minute {
		t.Errorf("it is leased until %s", heldEndpoint.LeasedUntil)
	}
	takes(now.Add(1000*time.Hour), 0, "while it is leased")
	must(t, queue.Release(ctx, heldEndpoint, now.Add(time.Hour)))
	takes(now.Add(59*time.Minute), 0, "too early")
	heldEndpoint = takes(now.Add(time.Hour), 1, "at its time")
	replay()
	deadline, err := queue.Renew(ctx, heldEndpoint, time.Hour)
	must(t, err)
	if !deadline.After(heldEndpoint.LeasedUntil) {
		t.Errorf("it is leased until %s and, renewed, until %s", heldEndpoint.LeasedUntil, deadline)
	}
	heldEndpoint.LeasedUntil = deadline
	must(t, queue.Release(ctx, heldEndpoint, time.Time{}))
	must(t, queue.Release(ctx, takes(now, 1, "when it became due during a renewed lease"), time.Time{}))
	takes(now.Add(1000*time.Hour), 0, "with nothing to deliver")
	replay()
	leasesLost(t, a, team, takes(now, 1, "again"))
}

// leasesLost checks that a node which did not renew its lease of held changes nothing after another has taken it.
func leasesLost(t *testing.T, a Adapter, team *fixture.Team, holding *webhook.Endpoint) {
	t.Helper()
	ctx, queue := t.Context(), a.WebhookQueue()
	long := time.Now().Add(1000 * time.Hour) // a lease is due at its end by the clock of the database
	deadline, err := queue.Renew(ctx, holding, 20*time.Millisecond)
	must(t, err)
	holding.LeasedUntil = deadline
	other := proof.Await(t, "an endpoint whose lease has passed is taken",
		func() []webhook.Endpoint { return leased(t, a, long) },
		func(batch []webhook.Endpoint) bool { return len(batch) == 1 })[0]
	_, err = queue.Renew(ctx, holding, time.Hour)
	wantErr(t, err, webhook.ErrLeaseLost)
	_, err = queue.Settle(ctx, team.Admin, holding, nil, func(*webhook.Endpoint) []job.Job { return nil })
	wantErr(t, err, webhook.ErrLeaseLost)
	must(t, queue.Queue(ctx, holding, nil, holding.Place+5))
	must(t, queue.Release(ctx, holding, fixture.At))
	if got := leased(t, a, long); len(got) != 0 {
		t.Errorf("the node that has lost it lets others take %+v", got)
	}
	current, err := queue.Settle(ctx, team.Admin, &other, nil, func(*webhook.Endpoint) []job.Job { return nil })
	if err != nil || current.Place != holding.Place {
		t.Errorf("the node that has taken it cannot settle, or the other has moved its place: %+v, %v", current, err)
	}
}

func deliveriesKept(t *testing.T, a Adapter) {
	ctx, now := t.Context(), fixture.At
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	e, queue := addWebhook(t, a, team), a.WebhookQueue()
	addWebhook(t, a, team)
	records := fixture.Events(t, a.Stores, team.Workspace.ID, event.Filter{Type: "webhook.created"}, 100)
	require.Equal(t, "events", len(records), 2)
	delivery := func(n int, subject string, seq int64) webhook.Delivery {
		owner := records[n]
		owner.Subject, owner.Seq = subject, seq
		return e.NewDelivery(owner, now)
	}
	all := []webhook.Delivery{delivery(0, "one", 1), delivery(1, "one", 2)}
	must(t, queue.Queue(ctx, e, all, 2))
	must(t, queue.Queue(ctx, e, []webhook.Delivery{delivery(1, "two", 3)}, 3)) // its place has moved
	pending, err := queue.Pending(ctx, e.ID)
	must(t, err)
	found, err := a.Webhooks.Get(ctx, team.Workspace.ID, e.ID)
	if err != nil || found.Place != 2 || pending != 1 { // the other waits
		t.Errorf("place %d, %d pending, %v", found.Place, pending, err)
	}
	next := func(instant time.Time) []webhook.Delivery {
		t.Helper()
		due, err := queue.Next(ctx, e.ID, instant, 5)
		must(t, err)
		return due
	}
	due := next(now)
	if len(due) != 1 || due[0].ID != all[0].ID || due[0].Event.Data["host"] != "example.com" ||
		due[0].Event.Actor != team.Admin.User || due[0].Event.Workspace != team.Workspace.ID {
		t.Fatalf("due are %+v", due)
	}
	outcome := webhook.Outcome{Status: 500, Answer: "oops", Took: 12 * time.Millisecond}
	due[0].Ended(outcome, now, 0.5)
	settledEndpoint, err := queue.Settle(ctx, team.Admin, e, due, func(e *webhook.Endpoint) []job.Job {
		e.Observe(team.Admin, []webhook.Outcome{outcome})
		return []job.Job{job.New(team.Admin, webhook.NoticeJob, string(e.ID), now)}
	})
	must(t, err)
	if queuedOf, err := a.Jobs.History(ctx, team.Workspace.ID, string(e.ID), page.Query{Limit: 5}); err != nil ||
		len(queuedOf.Items) != 1 || queuedOf.Items[0].Kind != webhook.NoticeJob {
		t.Errorf("queued are %+v, %v", queuedOf.Items, err)
	}
	if settledEndpoint.Failures != 1 || len(next(now)) != 0 || len(next(now.Add(5*time.Second))) != 1 {
		t.Errorf("%d failures; a later event about the same subject does not wait", settledEndpoint.Failures)
	}
	due[0].Ended(webhook.Outcome{Status: 200}, now, 0)
	_, err = queue.Settle(ctx, team.Admin, e, due, func(*webhook.Endpoint) []job.Job { return nil })
	must(t, err)
	if got := next(now); len(got) != 1 || got[0].ID != all[1].ID {
		t.Errorf("then due are %+v", got)
	}
	list, err := a.Webhooks.Deliveries(ctx, team.Workspace.ID, e.ID, webhook.DeliveryFilter{State: webhook.Delivered},
		page.Query{Limit: 5})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].ID != all[0].ID || list.Items[0].Attempts != 2 {
		t.Errorf("listed are %+v", list.Items)
	}
	t.Run("of another workspace", func(t *testing.T) {
		stranger := fixture.NewTeam(t, a.Stores, a.Orgs[1])
		found, err := a.Webhooks.Deliveries(ctx, stranger.Workspace.ID, e.ID, webhook.DeliveryFilter{},
			page.Query{Limit: 5})
		must(t, err)
		_, missing := a.Webhooks.Retry(ctx, stranger.Workspace.ID, e.ID, all[0].ID,
			func(*webhook.Delivery) error { return nil })
		wantErr(t, missing, webhook.ErrDeliveryNotFound)
		if len(found.Items) != 0 {
			t.Errorf("listed are %+v", found.Items)
		}
	})
	t.Run("again", func(t *testing.T) {
		_, err := a.Webhooks.Retry(ctx, team.Workspace.ID, e.ID, webhook.DeliveryID(id.New(webhook.DeliveryPrefix)),
			func(*webhook.Delivery) error { return nil })
		wantErr(t, err, webhook.ErrDeliveryNotFound)
		failures, err := a.Webhooks.Replay(ctx, team.Workspace.ID, e.ID, all, true, now)
		must(t, err)
		jobs, err := a.Webhooks.Replay(ctx, team.Workspace.ID, e.ID, all, false, now)
		must(t, err)
		if failures != 0 || jobs != 1 { // the other one is pending
			t.Errorf("%d failed and %d others are queued", failures, jobs)
		}
	})
}
