package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func usageOutbox(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	event := func(id string, quantity int64, moment time.Time) payment.UsageEvent {
		return payment.UsageEvent{
			ID: id, Account: "acct", Customer: "cus_1", Feature: "messages", PriceRef: "price_1",
			Quantity: quantity, At: moment,
		}
	}
	queue := func(e payment.UsageEvent) {
		t.Helper()
		must(t, a.Meters.QueueUsage(ctx, team.Admin, e, fixture.At))
	}
	eventsOf := func() []payment.UsageEvent {
		t.Helper()
		all, err := a.Meters.QueuedUsage(ctx, ws, "acct", 10)
		must(t, err)
		return all
	}
	item := event("u0", 1, fixture.At.Add(-time.Second)) // in the period before
	queue(item)
	first := event("u1", 5, fixture.At.Add(time.Second))
	queue(first)
	queue(event("u2", 7, fixture.At.Add(time.Minute)))
	tokens := event("u3", 2, fixture.At.Add(time.Hour))
	tokens.Feature = "tokens"
	queue(tokens)
	must(t, a.Meters.QueueUsage(ctx, other.Admin, event("u4", 3, fixture.At), fixture.At))
	first.Quantity = 12
	same(t, "reports of one period are added up", eventsOf(), []payment.UsageEvent{item, first, tokens})
	elsewhere, err := a.Meters.QueuedUsage(ctx, ws, "another account", 10)
	must(t, err)
	same(t, "at another account", len(elsewhere), 0)

	instant := fixture.At.Add(2 * time.Hour)
	quantity, isTried, err := a.Meters.TryUsage(ctx, ws, "u1", instant)
	must(t, err)
	same(t, "the quantity that is tried", quantity, int64(12))
	same(t, "tried", isTried, true)
	for _, id := range []string{"u1", "none"} {
		_, isTried, err = a.Meters.TryUsage(ctx, ws, id, instant)
		must(t, err)
		same(t, "tried again", isTried, false)
	}
	late := event("u5", 4, fixture.At.Add(2*time.Hour))
	queue(late)
	first.TriedAt = instant
	same(t, "nothing is added to an event that is tried", eventsOf(), []payment.UsageEvent{item, first, tokens, late})
	must(t, a.Meters.RestoreUsage(ctx, ws, "u1"))
	first.TriedAt = time.Time{}
	must(t, a.Meters.SentUsage(ctx, ws, "u0"))
	must(t, a.Meters.SentUsage(ctx, ws, "u5"))
	must(t, a.Meters.SentUsage(ctx, ws, "u5"))
	same(t, "what is left", eventsOf(), []payment.UsageEvent{first, tokens})
	t.Run("concurrent reports all count", func(t *testing.T) {
		second := a.Second()
		for _, err := range atOnce(20, func(i int) error {
			store := a.Meters
			if i%2 == 1 {
				store = second.Meters
			}
			return store.QueueUsage(ctx, team.Admin, event(key(), 1, fixture.At.Add(time.Second)), fixture.At)
		}) {
			must(t, err)
		}
		sum := int64(0)
		all, err := a.Meters.QueuedUsage(ctx, ws, "acct", 100)
		must(t, err)
		for _, e := range all {
			if e.Feature == "messages" {
				sum += e.Quantity
			}
		}
		same(t, "the sum", sum, int64(32))
	})
}
