package payment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
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
		"requires a method": {of: customer(), want: one("basic"), err: payment.ErrMethodRequired},
		"one that is good":  {of: customer(expired("a")), want: one("basic"), err: payment.ErrMethodRequired},
		"but for a trial": {of: customer(),
			want: one("trial"),
			op:   payment.Operation{Plan: "trial", Quantity: 1, TrialDays: 14, TrialEnd: payment.CancelTrial}},
		"which can end with a pause": {of: customer(),
			want: payment.SubscribeRequest{Plan: "trial", Quantity: 1,
				Trials: payment.TrialRules{WithoutCard: payment.PauseTrial}},
			op: payment.Operation{Plan: "trial", Quantity: 1, TrialDays: 14, TrialEnd: payment.PauseTrial}},
		"of which there is one": {of: hadTrial(customer(card("a", 1))),
			want: one("trial"),
			op:   payment.Operation{Plan: "trial", Quantity: 1, Method: "a"}},
		"requires a plan of the org": {of: customer(card("a", 1)), want: one("other"), err: payment.ErrPlanNotFound},
		"that the gateway knows":     {of: customer(card("a", 1)), want: one("gone"), err: payment.ErrPlanUnavailable},
		"is done once": {of: active("basic", card("a", 1)), want: one("basic"),
			err: payment.ErrSubscriptionExists},
		"even if it is past due": {of: subscribed("basic", payment.PastDue, card("a", 1)),
			want: one("basic"), err: payment.ErrSubscriptionExists},
		"an incomplete one is answered again": {of: subscribed("basic", payment.Incomplete, card("a", 1)),
			want: one("basic"), again: true},
		"one of another plan gives way": {of: subscribed("pro", payment.Incomplete, card("a", 1)),
			want: one("basic"),
			op:   payment.Operation{Plan: "basic", Quantity: 1, Method: "a", Subscription: "sub_1"}},
		"an operation that is under way comes first": {of: pending(customer(card("a", 1)), "other"),
			want: one("basic"), err: payment.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			isRepeat, err := tt.of.Subscribe(owner, now, "key", tt.want, plans)
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, "again", isRepeat, tt.again)
			if err != nil || isRepeat {
				return
			}
			tt.op.Kind, tt.op.Key, tt.op.At = payment.Subscribe, "key", now
			if p, err := plans.Find(tt.want.Plan); err == nil {
				tt.op.Sold = &payment.Plan{ID: p.ID, PriceRef: p.PriceRef, Price: p.Price, Interval: p.Interval,
					IntervalCount: p.IntervalCount}
			}
			assert.NoDiff(t, "difference", cmp.Diff(&tt.op, tt.of.Pending))
			revision := tt.of.Revision
			isRepeat, err = tt.of.Subscribe(owner, now, "key", tt.want, plans)
			assert.That(t, !isRepeat && err == nil && tt.of.Revision == revision,
				"under the same key it resumes: %v, %v", isRepeat, err)
			assert.That(t, tt.of.Pending.Repeated, "the operation does not say that it is repeated")
			_, err = tt.of.Subscribe(owner, now, "another", tt.want, plans)
			require.ErrorIs(t, err, payment.ErrPending)
		})
	}
	t.Run("what the same key has made is answered again", func(t *testing.T) {
		isRepeat, err := active("basic", card("a", 1)).Subscribe(owner, now, "made", one("basic"), plans)
		assert.That(t, isRepeat && err == nil, "%v, %v", isRepeat, err)
	})
}

// to is the change to another plan.
func to(plan payment.PlanID) payment.Changes { return payment.Changes{Plan: &plan} }

// one is the purchase of one unit of a plan.
func one(plan payment.PlanID) payment.SubscribeRequest {
	return payment.SubscribeRequest{Plan: plan, Quantity: 1}
}

func hadTrial(c *payment.Customer) *payment.Customer { c.HadTrial = true; return c }

func pending(c *payment.Customer, key string) *payment.Customer {
	c.Pending = &payment.Operation{Kind: payment.Subscribe, Key: key, At: now}
	return c
}

func TestWhatCostsLessWaitsForTheRenewal(t *testing.T) {
	plan := func(id payment.PlanID) *payment.PlanID { return &id }
	pointerTo := func(n int) *int { return &n }
	yes, negative := true, false
	for name, tt := range map[string]struct {
		of      *payment.Customer
		changes payment.Changes
		renewal bool
		resell  bool
		done    bool
		err     error
	}{
		"more is bought now": {of: active("basic"), changes: to("pro"), resell: true},
		"less at renewal": {of: active("pro"), changes: to("basic"), resell: true,
			renewal: true},
		"a longer period for a larger amount is now": {of: active("pro"), changes: to("year"), resell: true},
		"a shorter period waits": {of: active("year"), changes: to("pro"), resell: true,
			renewal: true},
		"a shorter period waits, for more, too": {of: active("year"),
			changes: payment.Changes{Plan: plan("pro"), Quantity: pointerTo(50)}, resell: true, renewal: true},
		"a longer period for less waits": {of: fifty(active("pro")),
			changes: payment.Changes{Plan: plan("year"), Quantity: pointerTo(1)}, resell: true, renewal: true},
		"what waits for the payer can be withdrawn": {of: confirming(active("basic")),
			changes: to("basic"), resell: true},
		"the quantity counts": {of: active("pro"),
			changes: payment.Changes{Plan: plan("basic"), Quantity: pointerTo(4)}, resell: true},
		"fewer of them": {of: quantity(active("basic"), 5),
			changes: payment.Changes{Quantity: pointerTo(2)}, resell: true, renewal: true},
		"in a trial all is done at once": {of: subscribed("pro", payment.Trialing, card("a", 1)),
			changes: to("basic"), resell: true},
		"what there is already is nothing to do": {of: active("basic"),
			changes: payment.Changes{Plan: plan("basic"), Quantity: pointerTo(1)}, done: true},
		"unless something else is to come": {of: coming(active("basic")), changes: to("basic"), resell: true},
		"nothing asked is nothing to do":   {of: coming(active("basic")), done: true},
		"ending at renewal sells nothing":  {of: active("basic"), changes: payment.Changes{CancelAtPeriodEnd: &yes}},
		"what is not paid for is not changed": {of: subscribed("basic", payment.Unpaid),
			changes: to("pro"), err: payment.ErrSubscriptionNotActive},
		"a renewal that is not paid is not deducted from another plan": {of: subscribed("basic", payment.PastDue),
			changes: to("pro"), err: payment.ErrSubscriptionNotActive},
		"nor from more of the same one": {of: subscribed("basic", payment.PastDue),
			changes: payment.Changes{Quantity: pointerTo(2)}, err: payment.ErrSubscriptionNotActive},
		"less can follow it": {of: subscribed("pro", payment.PastDue),
			changes: to("basic"), resell: true, renewal: true},
		"and what follows can be withdrawn": {of: coming(subscribed("basic", payment.PastDue)),
			changes: to("basic"), resell: true},
		"nor what has not begun": {of: subscribed("basic", payment.Incomplete),
			changes: to("pro"), err: payment.ErrSubscriptionNotActive},
		"nor what is not there":  {of: customer(), changes: to("pro"), err: payment.ErrNoSubscription},
		"to a plan of the org":   {of: active("basic"), changes: to("other"), err: payment.ErrPlanNotFound},
		"that the gateway knows": {of: active("basic"), changes: to("gone"), err: payment.ErrPlanUnavailable},
		"in the same currency":   {of: active("basic"), changes: to("euro"), err: payment.ErrPlanUnavailable},
		"more of a plan that is unavailable": {of: active("gone"),
			changes: payment.Changes{Quantity: pointerTo(2)}, resell: true},
		"from a plan that is not sold any more": {of: active("old"), changes: to("basic"), resell: true},
		"less never comes after the end": {of: ending(active("pro")),
			changes: to("basic"), err: payment.ErrSubscriptionEnds},
		"nor if both are asked for at once": {of: active("pro"),
			changes: payment.Changes{Plan: plan("basic"), CancelAtPeriodEnd: &yes}, err: payment.ErrSubscriptionEnds},
		"unless the end is taken back with it": {of: ending(active("pro")),
			changes: payment.Changes{Plan: plan("basic"), CancelAtPeriodEnd: &negative}, resell: true, renewal: true},
		"more is bought until the end": {of: ending(active("basic")), changes: to("pro"), resell: true},
		"a change that is under way comes before": {of: pending(active("basic"), "other"),
			changes: to("pro"), err: payment.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := tt.of.ChangeSubscription(owner, "key", nil, tt.changes, plans)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, "done", done, tt.done)
			if err != nil || done {
				return
			}
			op := tt.of.Pending
			assert.That(t, op.Kind == payment.Change && op.Subscription == "sub_1" && op.Resell == tt.resell &&
				op.AtRenewal == tt.renewal && op.CancelAtPeriodEnd == tt.changes.CancelAtPeriodEnd, "%+v", op)
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
	require.NoError(t, err)
	c.Settle(owner, "another", c.Look(), nil, plans)
	require.That(t, c.Pending != nil, "another key settled it")
	c.Settle(owner, "key", c.Look(), []payment.GatewaySubscription{held(payment.Active)}, plans)
	require.That(t, c.Pending == nil && c.Subscription != nil && c.Subscription.Plan == "basic" && c.Default == "b",
		"%+v", c)
	revision := c.Revision
	c.Settle(owner, "key", c.Look(), nil, plans)
	c.Abandon(owner, "key", "card_declined")
	assert.That(t, c.Revision == revision && c.Subscription != nil, "a second time changed something")
	assert.Equal(t, "recorded", recorded(&c.Log), "subscription.requested subscription.started ")
	require.NoError(t, c.CancelSubscription(owner, "end", nil, payment.Cancellation{}))
	require.NoError(t, c.CancelSubscription(owner, "end", nil, payment.Cancellation{}))
	require.ErrorIs(t, c.CancelSubscription(owner, "other", nil, payment.Cancellation{}), payment.ErrPending)
	c.Settle(owner, "end", c.Look(), []payment.GatewaySubscription{held(payment.Canceled)}, plans)
	require.That(t, c.Subscription == nil && c.Ended != nil && c.Ended.EndedAt == now, "%+v", c)
	require.ErrorIs(t, c.CancelSubscription(owner, "again", nil, payment.Cancellation{}), payment.ErrNoSubscription)
}

func TestWhatHadNoEffectIsAbandoned(t *testing.T) {
	c := customer(card("a", 1))
	_, err := c.Subscribe(owner, now, "key", one("basic"), plans)
	require.NoError(t, err)
	c.Abandon(owner, "key", "card_declined")
	assert.That(t, c.Pending == nil && c.Subscription == nil &&
		recorded(&c.Log) == "subscription.requested subscription.request_failed ", "%+v", c)
}

func TestAChangeMayBeMeantForOneRevision(t *testing.T) {
	plan := payment.PlanID("pro")
	c := active("basic", card("a", 1))
	_, err := c.ChangeSubscription(owner, "k", revision.Match{4}, payment.Changes{Plan: &plan}, plans)
	require.ErrorIs(t, err, revision.ErrMismatch)
	require.ErrorIs(t, c.CancelSubscription(owner, "k", revision.Match{4}, payment.Cancellation{}),
		revision.ErrMismatch)
	_, err = c.ChangeSubscription(owner, "k", revision.Match{5}, payment.Changes{Plan: &plan}, plans)
	require.NoError(t, err)
	_, err = c.ChangeSubscription(owner, "k", revision.Match{5}, payment.Changes{Plan: &plan}, plans)
	require.NoError(t, err) // it resumes
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
	pausedCustomer := subscribed("basic", payment.PastDue, card("a", 1))
	pausedCustomer.PausedAt = now
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
		"a pause prevents payments": {of: pausedCustomer, invoice: invoice(payment.Open, 900),
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
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, "done", done, tt.done)
			if err != nil || done {
				assert.That(t, len(tt.of.Recorded()) == 0, "a refusal recorded something")
				return
			}
			op := tt.of.Pending
			require.That(t, op.Kind == payment.Pay && op.Invoice == "in_1" &&
				recorded(&tt.of.Log) == "invoice.payment_requested ", "%+v", op)
			done, err = tt.of.PayInvoice(by, now, "key", tt.invoice)
			assert.That(t, !done && err == nil && tt.of.Pending.Repeated, "the same call again: %v, %v", done, err)
			paid := payment.InvoicePayment{Invoice: payment.Invoice{ID: "in_1", Status: payment.Paid}}
			tt.of.SettlePayment(
				by,
				"key",
				tt.of.Look(),
				paid,
				[]payment.GatewaySubscription{held(payment.Active)},
				plans,
			)
			assert.That(t, tt.of.Pending == nil && tt.of.Subscription.Status == payment.Active &&
				len(tt.of.Invoices) == 1, "%+v", tt.of)
		})
	}
}

func TestALostCustomerKeepsNothing(t *testing.T) {
	c := active("basic", card("a", 1))
	c.HadTrial = true
	c.Pending = &payment.Operation{Kind: payment.Change, Key: "k"}
	c.Lost(owner, "cus_other", "new")
	require.That(t, c.ID == "cus_1", "another customer was lost")
	c.Lost(owner, "cus_1", "new")
	assert.That(t, c.ID == "" && c.Key == "new" && len(c.Methods) == 0 && c.Default == "" && c.Subscription == nil &&
		c.Pending == nil && c.HadTrial, "%+v", c)
	assert.Equal(t, "recorded", recorded(&c.Log),
		"payment_customer.lost subscription.request_failed subscription.ended ")
	c.Rekey(owner, "other", "newer")
	assert.That(t, c.Key == "new", "the key of another call was replaced")
	c.Rekey(owner, "new", "newer")
	assert.That(t, c.Key == "newer", "the key was not replaced")
}
