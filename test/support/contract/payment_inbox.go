package contract

import (
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Inbox is the suite for ports.Inbox.
func Inbox(t *testing.T, open Opener) {
	a := open(t)
	ctx := t.Context()
	org, other := a.Orgs[0], a.Orgs[1]
	reportedEvent := func(account, id string, c payment.CustomerID, minute int) *payment.Event {
		return &payment.Event{
			Account: account, ID: id, Org: org, Gateway: payment.Stripe, Type: "invoice.paid", Customer: c,
			Workspace: "wsp_1", State: payment.Received,
			CreatedAt: fixture.At, ReceivedAt: fixture.At.Add(time.Duration(minute) * time.Minute),
		}
	}
	t.Run("an event is stored once", func(t *testing.T) {
		var wg sync.WaitGroup
		fresh := make(chan bool, 100)
		second := a.Second()
		for i := range 100 {
			wg.Go(func() {
				ok, err := []ports.Stores{a.Stores, second}[i%2].Inbox.Put(ctx, org,
					reportedEvent("acct_1", "evt_1", "cus_1", i))
				assert.NoError(t, err)
				fresh <- ok
			})
		}
		wg.Wait()
		close(fresh)
		n := 0
		for ok := range fresh {
			if ok {
				n++
			}
		}
		same(t, "fresh ones", n, 1)
	})
	t.Run("events of another account or org are separate", func(t *testing.T) {
		for _, e := range []struct {
			org identity.OrgID
			e   *payment.Event
		}{{org, reportedEvent("acct_2", "evt_1", "cus_1", 0)}, {other, reportedEvent("acct_1", "evt_1", "cus_1", 0)}} {
			fresh, err := a.Inbox.Put(ctx, e.org, e.e)
			must(t, err)
			assert.That(t, fresh, "%+v is not fresh", e)
		}
	})
	t.Run("waiting events are returned by customer, in order of arrival", func(t *testing.T) {
		for i, id := range []string{"evt_c", "evt_b", "evt_a"} {
			_, err := a.Inbox.Put(ctx, org, reportedEvent("acct_3", id, "cus_3", i))
			must(t, err)
		}
		waiting, err := a.Inbox.Waiting(ctx, org, "acct_3", "cus_3")
		must(t, err)
		same(t, "waiting", waiting, []payment.Event{*reportedEvent("acct_3", "evt_c", "cus_3", 0),
			*reportedEvent("acct_3", "evt_b", "cus_3", 1), *reportedEvent("acct_3", "evt_a", "cus_3", 2)})
		previous, dead, start, err := a.Inbox.Backlog(ctx, org)
		must(t, err)
		assert.That(t, previous == 5 && dead == 0 && !start.IsZero() && !start.After(fixture.At.Add(99*time.Minute)),
			"Backlog = %d, %d, %s", previous, dead, start)
		waiting[0].Finish(fixture.At)
		for range payment.MaxEventAttempts {
			waiting[1].Fail("gateway_error", fixture.At)
		}
		waiting[2].Fail("gateway_error", fixture.At)
		must(t, a.Inbox.Save(ctx, other, waiting...)) // another org changes nothing
		must(t, a.Inbox.Save(ctx, org, waiting...))
		rest, err := a.Inbox.Waiting(ctx, org, "acct_3", "cus_3")
		must(t, err)
		same(t, "left", rest, waiting[2:])
		current, dead, _, err := a.Inbox.Backlog(ctx, org)
		must(t, err)
		same(t, "backlog", []int{current, dead}, []int{3, 1})
		for _, e := range waiting {
			got, err := a.Inbox.Get(ctx, org, e.Account, e.ID)
			must(t, err)
			same(t, e.ID, *got, e)
		}
		list := fixture.Pages(t, 1, func(q page.Query) (page.Of[payment.Event],
			error) {
			return a.Inbox.List(ctx, org, payment.Dead, q)
		})
		same(t, "dead ones", list, waiting[1:2])
		all := fixture.Pages(t, 2, func(q page.Query) (page.Of[payment.Event],
			error) {
			return a.Inbox.List(ctx, org, "", q)
		})
		same(t, "all", len(all), 5)
	})
	t.Run("an unknown event is not found", func(t *testing.T) {
		_, err := a.Inbox.Get(ctx, other, "acct_3", "evt_a")
		wantErr(t, err, payment.ErrEventNotFound)
	})
	t.Run("the books are committed with their cause, or not at all", func(t *testing.T) {
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, err := tx.Inbox.Put(ctx, org, reportedEvent("acct_4", "evt_1", "cus_1", 0))
			must(t, err)
			return errBoom
		}), errBoom)
		_, err := a.Inbox.Get(ctx, org, "acct_4", "evt_1")
		wantErr(t, err, payment.ErrEventNotFound)
	})
}

// SandboxObjects is the suite for ports.SandboxObjects. second is another connection to the same objects.
func SandboxObjects(t *testing.T, open func(*testing.T) (objects, second ports.SandboxObjects,
	orgs [2]identity.OrgID)) {
	objects, second, orgs := open(t)
	ctx := t.Context()
	type rows = []ports.SandboxObject
	object := func(id, body string) ports.SandboxObject { return ports.SandboxObject{ID: id, Body: []byte(body)} }
	put := func(org identity.OrgID, customer string, changes ...ports.SandboxObject) {
		t.Helper()
		must(t, objects.Change(ctx, org, customer, func(rows) (rows, error) { return changes, nil }))
	}
	read := func(org identity.OrgID, customer string) (text string) {
		t.Helper()
		all, err := second.Read(ctx, org, customer)
		must(t, err)
		for _, o := range all {
			text += o.ID + "=" + string(o.Body) + " "
		}
		return text
	}
	put(orgs[0], "b", object("y", "1"), object("x", "2"))
	put(orgs[1], "b", object("x", "foreign"))
	put(orgs[0], "a", object("x", "other"))
	put(orgs[0], "b", object("y", "3"), object("z", "4"), ports.SandboxObject{ID: "x"})
	put(orgs[0], "none")
	wantErr(t, objects.Change(ctx, orgs[0], "b", func(all rows) (rows, error) {
		same(t, "objects", all, rows{object("y", "3"), object("z", "4")})
		return rows{object("y", "lost")}, errBoom
	}), errBoom)
	same(t, "objects", []string{read(orgs[0], "a"), read(orgs[0], "b"), read(orgs[1], "b"), read(orgs[0], "none")},
		[]string{"x=other ", "y=3 z=4 ", "x=foreign ", ""})
	ids, err := objects.Customers(ctx, orgs[0], "", 9)
	must(t, err)
	same(t, "customers", ids, []string{"a", "b"})
	ids, err = objects.Customers(ctx, orgs[0], "a", 1)
	must(t, err)
	same(t, "the rest", ids, []string{"b"})
	t.Run("changes of one customer are serialised", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				if err := []ports.SandboxObjects{objects, second}[i%2].Change(ctx, orgs[0], "count",
					func(all rows) (rows, error) {
						text := "+"
						if len(all) > 0 {
							text += string(all[0].Body)
						}
						return rows{object("n", text)}, nil
					}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		same(t, "count", len(read(orgs[0], "count")), len("n= ")+32)
	})
}
