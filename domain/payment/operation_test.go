package payment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestSubscribing(t *testing.T) {
	for name, tt := range map[string]struct {
		of    *payment.Customer
		want  payment.SubscribeRequest
		again bool
		op    payment.Operation
		err   error
	}{
		"charges the default": {of: customer(card("a", 2), card("b", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 2},
			op:   payment.Operation{Plan: "basic", Quantity: 2, Method: "a"}},
		"or what the caller names": {of: customer(card("a", 2), card("b", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"},
			op:   payment.Operation{Plan: "basic", Quantity: 1, Method: "b", Before: "a"}},
		"an incomplete one gives way to another card": {of: subscribed("basic", payment.Incomplete, card("a", 2),
			card("b", 1)), want: payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"},
			op: payment.Operation{Plan: "basic", Quantity: 1, Method: "b", Before: "a", Subscription: "sub_1"}},
		"takes no expired one": {of: customer(card("a", 2), expired("b")),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"}, err: payment.ErrMethodExpired},
		"nor another's": {of: customer(card("a", 2)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "x"}, err: payment.ErrMethodNotFound},
		"requires a method": {of: customer(),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, err: payment.ErrMethodRequired},
		"one that is good": {of: customer(expired("a")),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, err: payment.ErrMethodRequired},
		"but for a trial": {of: customer(),
			want: payment.SubscribeRequest{Plan: "trial", Quantity: 1},
			op:   payment.Operation{Plan: "trial", Quantity: 1, TrialDays: 14, TrialEnd: payment.CancelTrial}},
		"which can end with a pause": {of: customer(),
			want: payment.SubscribeRequest{Plan: "trial", Quantity: 1,
				Trials: payment.TrialRules{WithoutCard: payment.PauseTrial}},
			op: payment.Operation{Plan: "trial", Quantity: 1, TrialDays: 14, TrialEnd: payment.PauseTrial}},
		"of which there is one": {of: hadTrial(customer(card("a", 1))),
			want: payment.SubscribeRequest{Plan: "trial", Quantity: 1},
			op:   payment.Operation{Plan: "trial", Quantity: 1, Method: "a"}},
		"requires a plan of the org": {of: customer(card("a", 1)),
			want: payment.SubscribeRequest{Plan: "other", Quantity: 1}, err: payment.ErrPlanNotFound},
		"that the gateway knows": {of: customer(card("a", 1)),
			want: payment.SubscribeRequest{Plan: "gone", Quantity: 1}, err: payment.ErrPlanUnavailable},
		"is done once": {of: subscribed("basic", payment.Active, card("a", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, err: payment.ErrSubscriptionExists},
		"even if it is past due": {of: subscribed("basic", payment.PastDue, card("a", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, err: payment.ErrSubscriptionExists},
		"an incomplete one is answered again": {of: subscribed("basic", payment.Incomplete, card("a", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, again: true},
		"one of another plan gives way": {of: subscribed("pro", payment.Incomplete, card("a", 1)),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1},
			op:   payment.Operation{Plan: "basic", Quantity: 1, Method: "a", Subscription: "sub_1"}},
		"an operation that is under way comes first": {of: pending(customer(card("a", 1)), "other"),
			want: payment.SubscribeRequest{Plan: "basic", Quantity: 1}, err: payment.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			again, err := tt.of.Subscribe(owner, now, "key", tt.want, plans)
			wantErr(t, err, tt.err)
			if again != tt.again {
				t.Errorf("again = %v", again)
			}
			if err != nil || again {
				return
			}
			tt.op.Kind, tt.op.Key, tt.op.At = payment.Subscribe, "key", now
			if p, err := plans.Find(tt.want.Plan); err == nil {
				tt.op.Sold = &payment.Plan{ID: p.ID, PriceRef: p.PriceRef, Price: p.Price, Interval: p.Interval,
					IntervalCount: p.IntervalCount}
			}
			if d := cmp.Diff(&tt.op, tt.of.Pending); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			revision := tt.of.Revision
			if again, err := tt.of.Subscribe(owner, now, "key", tt.want, plans); again || err != nil ||
				tt.of.Revision != revision {
				t.Errorf("under the same key it resumes: %v, %v", again, err)
			}
			if !tt.of.Pending.Repeated {
				t.Error("the operation does not say that it is repeated")
			}
			_, err = tt.of.Subscribe(owner, now, "another", tt.want, plans)
			wantErr(t, err, payment.ErrPending)
		})
	}
	t.Run("what the same key has made is answered again", func(t *testing.T) {
		again, err := subscribed("basic", payment.Active, card("a", 1)).Subscribe(owner, now, "made",
			payment.SubscribeRequest{Plan: "basic", Quantity: 1}, plans)
		if !again || err != nil {
			t.Errorf("%v, %v", again, err)
		}
	})
}

func hadTrial(c *payment.Customer) *payment.Customer { c.HadTrial = true; return c }

func pending(c *payment.Customer, key string) *payment.Customer {
	c.Pending = &payment.Operation{Kind: payment.Subscribe, Key: key, At: now}
	return c
}

func TestWhatCostsLessWaitsForTheRenewal(t *testing.T) {
	plan := func(id payment.PlanID) *payment.PlanID { return &id }
	some := func(n int) *int { return &n }
	yes, no := true, false
	for name, tt := range map[string]struct {
		of      *payment.Customer
		changes payment.Changes
		renewal bool
		resell  bool
		done    bool
		err     error
	}{
		"more is bought now": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{Plan: plan("pro")}, resell: true},
		"less at renewal": {of: subscribed("pro", payment.Active),
			changes: payment.Changes{Plan: plan("basic")}, resell: true, renewal: true},
		"a longer period for a larger amount is now": {of: subscribed("pro", payment.Active),
			changes: payment.Changes{Plan: plan("year")}, resell: true},
		"a shorter period waits": {of: subscribed("year", payment.Active),
			changes: payment.Changes{Plan: plan("pro")}, resell: true, renewal: true},
		"a shorter period waits, for more, too": {of: subscribed("year", payment.Active),
			changes: payment.Changes{Plan: plan("pro"), Quantity: some(50)}, resell: true, renewal: true},
		"a longer period for less waits": {of: fifty(subscribed("pro", payment.Active)),
			changes: payment.Changes{Plan: plan("year"), Quantity: some(1)}, resell: true, renewal: true},
		"what waits for the payer can be withdrawn": {of: confirming(subscribed("basic", payment.Active)),
			changes: payment.Changes{Plan: plan("basic")}, resell: true},
		"the quantity counts": {of: subscribed("pro", payment.Active),
			changes: payment.Changes{Plan: plan("basic"), Quantity: some(4)}, resell: true},
		"fewer of them": {of: quantity(subscribed("basic", payment.Active), 5),
			changes: payment.Changes{Quantity: some(2)}, resell: true, renewal: true},
		"in a trial all is done at once": {of: subscribed("pro", payment.Trialing, card("a", 1)),
			changes: payment.Changes{Plan: plan("basic")}, resell: true},
		"what there is already is nothing to do": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{Plan: plan("basic"), Quantity: some(1)}, done: true},
		"unless something else is to come": {of: coming(subscribed("basic", payment.Active)),
			changes: payment.Changes{Plan: plan("basic")}, resell: true},
		"nothing asked is nothing to do": {of: coming(subscribed("basic", payment.Active)), done: true},
		"ending at renewal sells nothing": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{CancelAtPeriodEnd: &yes}},
		"what is not paid for is not changed": {of: subscribed("basic", payment.Unpaid),
			changes: payment.Changes{Plan: plan("pro")}, err: payment.ErrSubscriptionNotActive},
		"a renewal that is not paid is not deducted from another plan": {of: subscribed("basic", payment.PastDue),
			changes: payment.Changes{Plan: plan("pro")}, err: payment.ErrSubscriptionNotActive},
		"nor from more of the same one": {of: subscribed("basic", payment.PastDue),
			changes: payment.Changes{Quantity: some(2)}, err: payment.ErrSubscriptionNotActive},
		"less can follow it": {of: subscribed("pro", payment.PastDue),
			changes: payment.Changes{Plan: plan("basic")}, resell: true, renewal: true},
		"and what follows can be withdrawn": {of: coming(subscribed("basic", payment.PastDue)),
			changes: payment.Changes{Plan: plan("basic")}, resell: true},
		"nor what has not begun": {of: subscribed("basic", payment.Incomplete),
			changes: payment.Changes{Plan: plan("pro")}, err: payment.ErrSubscriptionNotActive},
		"nor what is not there": {of: customer(), changes: payment.Changes{Plan: plan("pro")},
			err: payment.ErrNoSubscription},
		"to a plan of the org": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{Plan: plan("other")}, err: payment.ErrPlanNotFound},
		"that the gateway knows": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{Plan: plan("gone")}, err: payment.ErrPlanUnavailable},
		"in the same currency": {of: subscribed("basic", payment.Active),
			changes: payment.Changes{Plan: plan("euro")}, err: payment.ErrPlanUnavailable},
		"more of a plan that is unavailable": {of: subscribed("gone", payment.Active),
			changes: payment.Changes{Quantity: some(2)}, resell: true},
		"from a plan that is not sold any more": {of: subscribed("old", payment.Active),
			changes: payment.Changes{Plan: plan("basic")}, resell: true},
		"less never comes after the end": {of: ending(subscribed("pro", payment.Active)),
			changes: payment.Changes{Plan: plan("basic")}, err: payment.ErrSubscriptionEnds},
		"nor if both are asked for at once": {of: subscribed("pro", payment.Active),
			changes: payment.Changes{Plan: plan("basic"), CancelAtPeriodEnd: &yes}, err: payment.ErrSubscriptionEnds},
		"unless the end is taken back with it": {of: ending(subscribed("pro", payment.Active)),
			changes: payment.Changes{Plan: plan("basic"), CancelAtPeriodEnd: &no}, resell: true, renewal: true},
		"more is bought until the end": {of: ending(subscribed("basic", payment.Active)),
			changes: payment.Changes{Plan: plan("pro")}, resell: true},
		"a change that is under way comes before": {of: pending(subscribed("basic", payment.Active), "other"),
			changes: payment.Changes{Plan: plan("pro")}, err: payment.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := tt.of.ChangeSubscription(owner, "key", nil, tt.changes, plans)
			wantErr(t, err, tt.err)
			if done != tt.done {
				t.Fatalf("done = %v", done)
			}
			if err != nil || done {
				return
			}
			if op := tt.of.Pending; op.Kind != payment.Change || op.Subscription != "sub_1" || op.Resell != tt.resell ||
				op.AtRenewal != tt.renewal || op.CancelAtPeriodEnd != tt.changes.CancelAtPeriodEnd {
				t.Errorf("%+v", op)
			}
		})
	}
}

func quantity(c *payment.Customer, n int) *payment.Customer { c.Subscription.Quantity = n; return c }

func ending(c *payment.Customer) *payment.Customer { c.Subscription.CancelAtPeriodEnd = true; return c }

func coming(c *payment.Customer) *payment.Customer {
	c.Subscription.Pending = &payment.PendingChange{Plan: "pro", Quantity: 1, At: now}
	return c
}

func TestAnOperationIsSettledOnce(t *testing.T) {
	c := customer(card("a", 1), card("b", 2))
	_, err := c.Subscribe(owner, now, "key", payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"}, plans)
	wantErr(t, err, nil)
	c.Settle(owner, "another", c.Look(), nil, plans)
	if c.Pending == nil {
		t.Fatal("another key settled it")
	}
	c.Settle(owner, "key", c.Look(), []payment.GatewaySubscription{held(payment.Active)}, plans)
	if c.Pending != nil || c.Subscription == nil || c.Subscription.Plan != "basic" || c.Default != "b" {
		t.Fatalf("%+v", c)
	}
	revision := c.Revision
	c.Settle(owner, "key", c.Look(), nil, plans)
	c.Abandon(owner, "key", "card_declined")
	if c.Revision != revision || c.Subscription == nil {
		t.Error("a second time changed something")
	}
	if got := recorded(&c.Log); got != "subscription.requested subscription.started " {
		t.Errorf("recorded %s", got)
	}
	wantErr(t, c.CancelSubscription(owner, "end", nil, payment.Cancellation{}), nil)
	wantErr(t, c.CancelSubscription(owner, "end", nil, payment.Cancellation{}), nil)
	wantErr(t, c.CancelSubscription(owner, "other", nil, payment.Cancellation{}), payment.ErrPending)
	c.Settle(owner, "end", c.Look(), []payment.GatewaySubscription{held(payment.Canceled)}, plans)
	if c.Subscription != nil || c.Ended == nil || c.Ended.EndedAt != now {
		t.Fatalf("%+v", c)
	}
	wantErr(t, c.CancelSubscription(owner, "again", nil, payment.Cancellation{}), payment.ErrNoSubscription)
}

func TestWhatHadNoEffectIsAbandoned(t *testing.T) {
	c := customer(card("a", 1))
	_, err := c.Subscribe(owner, now, "key", payment.SubscribeRequest{Plan: "basic", Quantity: 1}, plans)
	wantErr(t, err, nil)
	c.Abandon(owner, "key", "card_declined")
	if c.Pending != nil || c.Subscription != nil ||
		recorded(&c.Log) != "subscription.requested subscription.request_failed " {
		t.Errorf("%+v", c)
	}
}

func TestAChangeMayBeMeantForOneRevision(t *testing.T) {
	plan := payment.PlanID("pro")
	c := subscribed("basic", payment.Active, card("a", 1))
	_, err := c.ChangeSubscription(owner, "k", revision.Match{4}, payment.Changes{Plan: &plan}, plans)
	wantErr(t, err, revision.ErrMismatch)
	wantErr(t, c.CancelSubscription(owner, "k", revision.Match{4}, payment.Cancellation{}), revision.ErrMismatch)
	_, err = c.ChangeSubscription(owner, "k", revision.Match{5}, payment.Changes{Plan: &plan}, plans)
	wantErr(t, err, nil)
	_, err = c.ChangeSubscription(owner, "k", revision.Match{5}, payment.Changes{Plan: &plan}, plans)
	wantErr(t, err, nil) // it resumes
}

func fifty(c *payment.Customer) *payment.Customer {
	c.Subscription.Quantity = 50
	return c
}

func confirming(c *payment.Customer) *payment.Customer {
	c.Subscription.Confirming = true
	return c
}

func TestInvoicesThatCanBePaid(t *testing.T) {
	invoice := func(s payment.InvoiceStatus, due int64) *payment.Invoice {
		return &payment.Invoice{ID: "in_1", Status: s, AmountDue: due}
	}
	paused := subscribed("basic", payment.PastDue, card("a", 1))
	paused.PausedAt = now
	busy := subscribed("basic", payment.PastDue, card("a", 1))
	busy.Pending = &payment.Operation{Kind: payment.Change, Key: "other"}
	for name, tt := range map[string]struct {
		of      *payment.Customer
		by      identity.Actor
		invoice *payment.Invoice
		done    bool
		err     error
	}{
		"an open invoice can be paid": {of: subscribed("basic", payment.Unpaid, card("a", 1)),
			invoice: invoice(payment.Open, 900)},
		"a draft can be paid": {of: subscribed("basic", payment.Unpaid, card("a", 1)),
			invoice: invoice(payment.Draft, 900)},
		"a paid invoice is done": {of: customer(), invoice: invoice(payment.Paid, 0), done: true},
		"a void invoice cannot be paid": {of: customer(card("a", 1)), invoice: invoice(payment.Void, 900),
			err: payment.ErrInvoiceNotPayable},
		"one that was written off can be paid": {of: customer(card("a", 1)),
			invoice: invoice(payment.Uncollectible, 900)},
		"a payment needs a payment method": {of: customer(), invoice: invoice(payment.Open, 900),
			err: payment.ErrMethodRequired},
		"a payment needs one that has not expired": {of: customer(expired("a")), invoice: invoice(payment.Open, 900),
			err: payment.ErrMethodRequired},
		"nothing due needs no payment method": {of: customer(), invoice: invoice(payment.Open, 0)},
		"a pause prevents payments": {of: paused, invoice: invoice(payment.Open, 900),
			err: payment.ErrPaused},
		"another operation goes first": {of: busy, invoice: invoice(payment.Open, 900), err: payment.ErrPending},
		"a member cannot pay": {of: customer(card("a", 1)), by: member, invoice: invoice(payment.Open, 900),
			err: payment.ErrRoleRequired},
	} {
		t.Run(name, func(t *testing.T) {
			by := tt.by
			if by.User == "" {
				by = admin
			}
			done, err := tt.of.PayInvoice(by, now, "key", tt.invoice)
			if wantErr(t, err, tt.err); done != tt.done {
				t.Fatalf("done = %v", done)
			}
			if err != nil || done {
				if len(tt.of.Recorded()) > 0 {
					t.Error("a refusal recorded something")
				}
				return
			}
			if op := tt.of.Pending; op.Kind != payment.Pay || op.Invoice != "in_1" ||
				recorded(&tt.of.Log) != "invoice.payment_requested " {
				t.Fatalf("%+v", op)
			}
			if done, err := tt.of.PayInvoice(by, now, "key", tt.invoice); done || err != nil ||
				!tt.of.Pending.Repeated {
				t.Errorf("the same call again: %v, %v", done, err)
			}
			paid := payment.InvoicePayment{Invoice: payment.Invoice{ID: "in_1", Status: payment.Paid}}
			tt.of.SettlePayment(
				by,
				"key",
				tt.of.Look(),
				paid,
				[]payment.GatewaySubscription{held(payment.Active)},
				plans,
			)
			if tt.of.Pending != nil || tt.of.Subscription.Status != payment.Active || len(tt.of.Invoices) != 1 {
				t.Errorf("%+v", tt.of)
			}
		})
	}
}

func TestALostCustomerKeepsNothing(t *testing.T) {
	c := subscribed("basic", payment.Active, card("a", 1))
	c.HadTrial = true
	c.Pending = &payment.Operation{Kind: payment.Change, Key: "k"}
	c.Lost(owner, "cus_other", "new")
	if c.ID != "cus_1" {
		t.Fatal("another customer was lost")
	}
	c.Lost(owner, "cus_1", "new")
	if c.ID != "" || c.Key != "new" || len(c.Methods) != 0 || c.Default != "" || c.Subscription != nil ||
		c.Pending != nil || !c.HadTrial {
		t.Errorf("%+v", c)
	}
	if got := recorded(&c.Log); got != "payment_customer.lost subscription.request_failed subscription.ended " {
		t.Errorf("recorded %s", got)
	}
	c.Rekey(owner, "other", "newer")
	if c.Key != "new" {
		t.Error("the key of another call was replaced")
	}
	if c.Rekey(owner, "new", "newer"); c.Key != "newer" {
		t.Error("the key was not replaced")
	}
}
