package payment_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// packOf returns a credit pack that expires after a number of days, 0 for never.
func packOf(id payment.InvoiceID, granted, used int64, days int) payment.CreditPack {
	p := payment.CreditPack{Invoice: id, Pack: "pack", Feature: "messages", Granted: granted, Used: used, BoughtAt: now}
	if days != 0 {
		p.ExpiresAt = now.AddDate(0, 0, days)
	}
	return p
}

func balances(packs []payment.CreditPack) (text string) {
	for _, p := range packs {
		text += fmt.Sprintf("%s:%d ", p.Invoice, p.Remaining())
	}
	return text
}

func TestUsageIsSpentFromThePlanFirstThenFromThePackThatExpiresSoonest(t *testing.T) {
	limit := int64(100)
	refund, dispute := packOf("refunded", 10, 0, 1), packOf("disputed", 10, 0, 1)
	refund.IsRefunded, dispute.IsDisputed = true, true
	oldest := packOf("older", 10, 0, 0)
	oldest.BoughtAt = now.Add(-time.Hour)
	strict := payment.LossRules{OnRefund: payment.EndPlan, OnDispute: payment.EndPlan}
	for name, tt := range map[string]struct {
		used, fromPacks int64
		packs           []payment.CreditPack
		quantity        int64
		allowance       *int64
		losses          payment.LossRules
		want            string // what is left of the packs
		wantUsed        int64
		wantFromPacks   int64
		err             error
	}{
		"within the allowance": {90, 0, []payment.CreditPack{packOf("a", 10, 0, 0)}, 10, &limit, strict, "a:10 ", 100, 0,
			nil},
		"in part beyond it": {90, 0, []payment.CreditPack{packOf("a", 10, 0, 0)}, 15, &limit, strict, "a:5 ", 105, 5, nil},
		"what packs have paid for leaves the allowance": {60, 20, []payment.CreditPack{packOf("a", 10, 0, 0)}, 60, &limit,
			strict, "a:10 ", 120, 20, nil},
		"the pack that expires soonest first": {100, 0, []payment.CreditPack{packOf("ever", 10, 0, 0),
			packOf("late", 10, 0, 9), packOf("soon", 10, 4, 2)}, 8, &limit, strict, "ever:10 late:8 soon:0 ", 108, 8,
			nil},
		"of those that do not expire, the oldest first": {100, 0, []payment.CreditPack{packOf("new", 10, 0, 0), oldest}, 12,
			&limit, strict, "new:8 older:0 ", 112, 12, nil},
		"more than there is": {100, 0, []payment.CreditPack{packOf("a", 10, 0, 0)}, 11, &limit, strict, "a:10 ", 100, 0,
			payment.ErrUsageLimit},
		"no longer what has expired": {100, 0, []payment.CreditPack{packOf("a", 10, 0, -1)}, 1, &limit, strict, "a:10 ", 100,
			0, payment.ErrUsageLimit},
		"not what was refunded or is disputed, if that ends it": {100, 0, []payment.CreditPack{refund, dispute}, 1, &limit,
			strict, "refunded:10 disputed:10 ", 100, 0, payment.ErrUsageLimit},
		"what was refunded or is disputed, if that does not end it": {100, 0, []payment.CreditPack{refund, dispute}, 15,
			&limit, payment.LossRules{OnRefund: payment.KeepPlan}, "refunded:5 disputed:0 ", 115, 15, nil},
		"nothing of them without a limit": {100, 0, []payment.CreditPack{packOf("a", 10, 0, 0)}, 50, nil, strict, "a:10 ",
			150, 0, nil},
		"usage beyond a smaller allowance stays as it was": {80, 0, []payment.CreditPack{packOf("a", 10, 0, 0)}, 3,
			new(int64), strict, "a:7 ", 83, 3, nil},
		"a correction gives back what was spent last": {115, 15, []payment.CreditPack{packOf("ever", 10, 5, 0),
			packOf("soon", 10, 10, 2)}, -8, &limit, strict, "ever:10 soon:3 ", 107, 7, nil},
		"a correction of more gives back the allowance, too": {115, 15, []payment.CreditPack{packOf("a", 20, 15, 0)}, -40,
			&limit, strict, "a:20 ", 75, 0, nil},
		"nothing is given back to what has expired": {115, 15, []payment.CreditPack{packOf("a", 20, 15, -1)}, -5, &limit,
			strict, "a:5 ", 110, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tally := payment.Tally{Used: tt.used, FromPacks: tt.fromPacks, Packs: slices.Clone(tt.packs)}
			err := tally.Add(&payment.UsageReport{Quantity: tt.quantity, Allowance: tt.allowance, IsLimited: true,
				Rules: payment.PackRules{Now: now, Losses: tt.losses}})
			assert.That(t, errors.Is(err, tt.err), "error %v, want %v", err, tt.err)
			assert.Equal(t, "left", balances(tally.Packs), tt.want)
			assert.That(t, tally.Used == tt.wantUsed && tally.FromPacks == tt.wantFromPacks, "%+v", tally)
		})
	}
	t.Run("a report that is not limited spends what there is, and counts in full", func(t *testing.T) {
		tally := payment.Tally{Used: 100, Packs: []payment.CreditPack{packOf("a", 10, 0, 0)}}
		require.NoError(t, tally.Add(&payment.UsageReport{Quantity: 25, Allowance: &limit,
			Rules: payment.PackRules{Now: now}}))
		assert.That(t, tally.Used == 125 && tally.FromPacks == 10 && tally.Packs[0].Remaining() == 0, "%+v", tally)
	})
}

// TestNoCreditIsMadeOrLost walks randomly, and compares with a ledger that knows only sums.
func TestNoCreditIsMadeOrLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tally payment.Tally
		allowance := int64(0)
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				tally.Packs = append(tally.Packs, packOf(payment.InvoiceID(fmt.Sprint(n)),
					rapid.Int64Range(1, 20).Draw(t, "granted"), 0, rapid.IntRange(0, 3).Draw(t, "days")))
			case 1:
				allowance = rapid.Int64Range(0, 30).Draw(t, "allowance")
			default:
				previous := tally
				previous.Packs = slices.Clone(tally.Packs)
				r := payment.UsageReport{Quantity: rapid.Int64Range(-15, 15).Draw(t, "quantity"), Allowance: &allowance,
					IsLimited: rapid.Bool().Draw(t, "limited"), Rules: payment.PackRules{Now: now}}
				err := tally.Add(&r)
				balance := func(all payment.Tally) (sum int64) {
					for _, p := range all.Packs {
						if p.Used < 0 || p.Remaining() < 0 {
							t.Fatalf("%+v", p)
						}
						sum += p.Remaining()
					}
					return sum
				}
				cost, change := balance(previous)-balance(tally), tally.FromPacks-previous.FromPacks
				credit := max(0, allowance-(previous.Used-previous.FromPacks)) + balance(previous)
				switch {
				case tally.Used < 0 || tally.FromPacks < 0 || tally.FromPacks > tally.Used || cost != change:
					t.Fatalf("%+v after %+v and %+v", tally, previous, r)
				case r.IsLimited && r.Quantity > 0 && (err == nil) != (r.Quantity <= credit):
					t.Fatalf("%v with %d available for %+v", err, credit, r)
				case err != nil && (cost != 0 || tally.Used != previous.Used):
					t.Fatalf("a refusal has changed %+v to %+v", previous, tally)
				}
			}
		}
	})
}

var packs = payment.Plans{
	{ID: "pack", Price: payment.Money{Amount: 500, Currency: "usd"}, PriceRef: "price_pack",
		Limits: map[string]int64{"messages": 10}, ExpiresAfter: 30},
	{ID: "free", Price: payment.Money{Currency: "usd"}, PriceRef: "price_free", Limits: map[string]int64{"messages": 1}},
	{ID: "old", Price: payment.Money{Amount: 500, Currency: "usd"}, PriceRef: "price_old", Retired: true},
}

func TestBuyPack(t *testing.T) {
	pause := customer(card("pm_1", 0))
	pause.PausedAt = now
	operation := active("basic", card("pm_1", 0))
	operation.Pending = &payment.Operation{Kind: payment.Change, Key: "other", At: now}
	for name, tt := range map[string]struct {
		by   identity.Actor
		c    *payment.Customer
		pack payment.PlanID
		want error
	}{
		"with a card":                 {owner, customer(card("pm_1", 0)), "pack", nil},
		"beside a subscription":       {admin, active("basic", card("pm_1", 0)), "pack", nil},
		"without a card":              {owner, customer(), "pack", payment.ErrMethodRequired},
		"with an expired card":        {owner, customer(expired("pm_1")), "pack", payment.ErrMethodRequired},
		"a free one needs no card":    {owner, customer(), "free", nil},
		"an unknown one":              {owner, customer(card("pm_1", 0)), "none", payment.ErrPackNotFound},
		"one that is no longer sold":  {owner, customer(card("pm_1", 0)), "old", payment.ErrPackUnavailable},
		"while payments are paused":   {owner, pause, "pack", payment.ErrPaused},
		"while a change is under way": {owner, operation, "pack", payment.ErrPending},
		"by a member":                 {member, customer(card("pm_1", 0)), "pack", payment.ErrRoleRequired},
	} {
		isDone, err := tt.c.BuyPack(tt.by, now, "key", payment.PackRequest{Pack: tt.pack, Quantity: 2}, packs)
		assert.That(t, errors.Is(err, tt.want) && !isDone && (err != nil || tt.c.Pending.Kind == payment.Buy),
			"%s: %v %+v", name, err, tt.c.Pending)
	}
	c := active("basic", card("pm_1", 0), card("pm_own", 1))
	c.Subscription.Item.Method = "pm_own"
	_, err := c.BuyPack(owner, now, "key", payment.PackRequest{Pack: "pack", Quantity: 2, AutomaticTax: true}, packs)
	require.NoError(t, err)
	order := c.Pending.PackOrder(*c.Pending.Sold)
	assert.That(t, order.Method == "pm_own" && order.Quantity == 2 && order.AutomaticTax &&
		order.Pack.ExpiresAfter == 30 &&
		order.Pack.Limits["messages"] == 10 && recorded(&c.Log) == "credit_pack.requested ", "%+v", order)
	t.Run("a repetition resumes it, and is done when it is settled", func(t *testing.T) {
		w := payment.PackRequest{Pack: "pack", Quantity: 2}
		isDone, err := c.BuyPack(owner, now, "key", w, packs)
		assert.That(t, err == nil && !isDone && c.Pending.Repeated, "%v %v", isDone, err)
		invoice := payment.Invoice{ID: "in_1", Status: payment.Paid, PaidAt: now, Pack: &payment.PackSale{Pack: "pack"}}
		assert.That(t, c.SettlePayment(owner, "key", c.Look(), payment.InvoicePayment{Invoice: invoice},
			[]payment.GatewaySubscription{held(payment.Active)}, plans), "not settled")
		isDone, err = c.BuyPack(owner, now, "key", w, packs)
		assert.That(t, err == nil && isDone && len(c.Invoices) == 1, "%v %v", isDone, err)
	})
}

func TestAfterAFailedPurchaseTheInvoicesAreReadAgain(t *testing.T) {
	c := customer(card("pm_1", 0))
	_, err := c.BuyPack(owner, now, "key", payment.PackRequest{Pack: "pack", Quantity: 1}, packs)
	require.NoError(t, err)
	c.InvoicesAt = now // by an event, while the invoice was open
	assert.That(t, c.Abandon(owner, "key", "card_declined") && c.InvoicesAt.IsZero(), "read at %s", c.InvoicesAt)
}

func TestOnlyAPaidInvoiceGivesCredit(t *testing.T) {
	sale := &payment.PackSale{Pack: "pack", Quantity: 3, Limits: map[string]int64{"tokens": 5, "messages": 10},
		Days: 30}
	i := payment.Invoice{ID: "in_1", Status: payment.Open, AmountPaid: 900, Currency: "usd", Pack: sale}
	assert.Equal(t, "credits of an open one", len(i.Credits()), 0)
	i.Status, i.PaidAt = payment.Paid, now
	credits := i.Credits()
	want := payment.CreditPack{Invoice: "in_1", Pack: "pack", Feature: "messages", Granted: 30, BoughtAt: now,
		ExpiresAt: now.AddDate(0, 0, 30)}
	assert.That(t, len(credits) == 2 && credits[0] == want && credits[1].Granted == 15, "%+v", credits)
	i.Pack = nil
	assert.Equal(t, "credits of another one", len(i.Credits()), 0)
	i.Pack = sale
	c := customer()
	c.Invoices = []payment.Invoice{i}
	c.RecordInvoices(owner, nil)
	assert.Equal(t, "events", recorded(&c.Log), "invoice.paid credit_pack.purchased ")
	second := customer()
	second.Invoices = c.Invoices
	second.RecordInvoices(owner, map[payment.InvoiceID]payment.Invoice{"in_1": i})
	assert.Equal(t, "events of the same", recorded(&second.Log), "")
}

func TestACreditPackBeginsNoPeriodOfUsage(t *testing.T) {
	c := active("basic")
	c.UsageSince = now.AddDate(0, 0, -20) // of an earlier subscription
	start := c.UsageSince
	invoices := []payment.Invoice{{ID: "in_1", Status: payment.Paid, Total: 500, CreatedAt: now, PaidAt: now,
		Pack: &payment.PackSale{Pack: "pack"}}}
	c.Mirror(owner, c.Look(), payment.Seen{Invoices: &invoices}, plans)
	assert.That(t, c.UsageSince.Equal(start), "usage is counted since %s", c.UsageSince)
}

func TestWhatIsLeftOfCreditPacksExpires(t *testing.T) {
	rules := payment.PackRules{Now: now, Losses: payment.LossRules{OnRefund: payment.EndPlan}}
	tokens, refund := packOf("in_1", 7, 0, 0), packOf("in_4", 10, 0, 0)
	tokens.Feature, refund.IsRefunded = "tokens", true
	for name, tt := range map[string]struct {
		packs []payment.CreditPack
		want  string
	}{
		"one event for the limits of an invoice": {[]payment.CreditPack{packOf("in_1", 10, 4, 0), tokens},
			"in_1 map[messages:6 tokens:7] "},
		"one event for each invoice": {[]payment.CreditPack{packOf("in_1", 10, 4, 0), packOf("in_2", 10, 0, 0)},
			"in_1 map[messages:6] in_2 map[messages:10] "},
		"none for what was used":              {[]payment.CreditPack{packOf("in_3", 10, 10, 0)}, ""},
		"none for what has ended by a refund": {[]payment.CreditPack{refund}, ""},
	} {
		c, text := customer(), ""
		c.ExpirePacks(owner, rules, tt.packs)
		for _, e := range c.Recorded() {
			assert.Equal(t, name, e.Type, "credit_pack.expired")
			text += fmt.Sprint(e.Subject, " ", e.Data["limits"], " ")
		}
		assert.Equal(t, name, text, tt.want)
	}
}
