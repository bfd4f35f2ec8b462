package contract

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// packInvoice is a paid invoice for credit packs that add 10 messages and 1 token each.
func packInvoice(id payment.InvoiceID, quantity, days int) payment.Invoice {
	return payment.Invoice{ID: id, Status: payment.Paid, Currency: "usd", AmountPaid: 500, Total: 500,
		CreatedAt: fixture.At, PaidAt: fixture.At,
		Pack: &payment.PackSale{Pack: "pack", Quantity: quantity, Limits: map[string]int64{"messages": 10, "tokens": 1},
			Days: days, Key: "key " + string(id)}}
}

func creditPacks(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	customerOf(t, a.Stores, team.Owner)
	by := team.Owner
	see := func(all ...payment.Invoice) {
		t.Helper()
		changeCustomer(t, a.Stores, by, func(c *payment.Customer) { seeInvoices(c, by, all) })
	}
	debt, month := packInvoice("in_open", 1, 30), packInvoice("in_soon", 1, 30)
	debt.Status = payment.Open
	see(packInvoice("in_ever", 2, 0), debt, month)
	balances := func() map[payment.InvoiceID]int64 {
		t.Helper()
		all, err := a.Meters.Packs(t.Context(), by.Workspace, sandboxAccount)
		must(t, err)
		sums := map[payment.InvoiceID]int64{}
		for _, p := range all {
			if p.Feature == "messages" {
				sums[p.Invoice] = p.Remaining()
			}
		}
		return sums
	}
	rules := payment.PackRules{Now: fixture.At}
	report := func(quantity int64) payment.UsageReport {
		allowance := int64(5)
		return payment.UsageReport{Feature: "messages", Quantity: quantity, At: fixture.At, Account: sandboxAccount,
			Period: payment.Period{Start: fixture.At, End: fixture.At.AddDate(0, 1, 0)}, Rules: rules,
			Allowance: &allowance, IsLimited: true}
	}
	add := func(r payment.UsageReport) payment.UsageOutcome {
		t.Helper()
		got, err := a.Meters.Add(t.Context(), by, r)
		must(t, err)
		return got[0]
	}
	t.Run("only paid ones are there, and of the workspace and account alone", func(t *testing.T) {
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_ever": 20, "in_soon": 10})
		for ws, account := range map[identity.WorkspaceID]string{other.Owner.Workspace: sandboxAccount,
			by.Workspace: "another account"} {
			all, err := a.Meters.Packs(t.Context(), ws, account)
			must(t, err)
			same(t, "of others", len(all), 0)
		}
	})
	t.Run("the one that expires first is spent first, after the allowance", func(t *testing.T) {
		o := add(report(7))
		same(t, "outcome", []int64{o.Used, o.FromPacks, int64(len(o.Packs))}, []int64{7, 2, 2})
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_ever": 20, "in_soon": 8})
		o = add(report(13))
		same(t, "outcome", []int64{o.Used, o.FromPacks, int64(len(o.Packs))}, []int64{20, 15, 1})
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_ever": 15})
	})
	t.Run("another read of the gateway adds nothing, and a refund is noted", func(t *testing.T) {
		refund := packInvoice("in_ever", 2, 0)
		refund.AmountRefunded, refund.Disputes = 500, []payment.Dispute{{ID: "du", Status: payment.DisputeOpen}}
		see(refund, month)
		all, err := a.Meters.Packs(t.Context(), by.Workspace, sandboxAccount)
		must(t, err)
		n := slices.IndexFunc(all, func(p payment.CreditPack) bool {
			return p.Invoice == "in_ever" && p.Feature == "messages"
		})
		same(t, "the pack", all[n], payment.CreditPack{Invoice: "in_ever", Pack: "pack", Feature: "messages",
			Granted: 20, Used: 5, BoughtAt: fixture.At, IsRefunded: true, IsDisputed: true})
		see(packInvoice("in_ever", 2, 0), month)
	})
	t.Run("a correction gives back to the one that was spent last", func(t *testing.T) {
		o := add(report(-7))
		same(t, "outcome", []int64{o.Used, o.FromPacks}, []int64{13, 8})
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_ever": 20, "in_soon": 2})
		tallies, err := a.Meters.Sums(t.Context(), by.Workspace, fixture.At)
		must(t, err)
		same(t, "sums", tallies, map[string]payment.Tally{"messages": {Used: 13, FromPacks: 8}})
	})
	t.Run("what has expired is neither spent nor given back", func(t *testing.T) {
		r := report(1)
		r.Rules.Now = fixture.At.AddDate(0, 0, 30)
		add(r)
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_ever": 19, "in_soon": 2})
	})
	t.Run("concurrent reports spend no more than there is", func(t *testing.T) {
		second, count := a.Second(), 0
		var mu sync.Mutex
		for _, err := range atOnce(40, func(i int) error {
			store := a.Meters
			if i%2 == 1 {
				store = second.Meters
			}
			got, err := store.Add(t.Context(), by, report(1))
			if err == nil && got[0].Counts() {
				mu.Lock()
				count++
				mu.Unlock()
			}
			return err
		}) {
			must(t, err)
		}
		same(t, "counted", count, 21)
		same(t, "left", len(balances()), 0)
	})
	t.Run("an invoice that is paid later adds its own", func(t *testing.T) {
		see(packInvoice("in_open", 1, 30))
		same(t, "left", balances(), map[payment.InvoiceID]int64{"in_open": 10})
	})
	t.Run("what was left is recorded once when it has expired, on whichever node", func(t *testing.T) {
		second, rules := a.Second(), payment.PackRules{Now: fixture.At.AddDate(0, 0, 31)}
		for i := range 2 {
			for _, err := range atOnce(4, func(i int) error {
				store := a.Meters
				if i%2 == 1 {
					store = second.Meters
				}
				return store.ExpirePacks(t.Context(), by, sandboxAccount, rules)
			}) {
				must(t, err)
			}
			events, err := a.Events.List(t.Context(), by.Workspace, event.Filter{Type: "credit_pack.expired"},
				page.Query{Limit: 10})
			must(t, err)
			subjects := map[string]int{}
			for _, e := range events.Items {
				subjects[e.Subject]++
			}
			same(t, fmt.Sprint("events after ", i), subjects, map[string]int{"in_open": 1, "in_soon": 1}) // its tokens
			same(t, "balances", len(balances()), 0)
		}
		wantErr(t, add(report(1)).Refusal, payment.ErrUsageLimit) // by a node whose clock is late
		stranger := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Owner
		wantErr(t, a.Meters.ExpirePacks(t.Context(), stranger, sandboxAccount, rules), payment.ErrNoCustomer)
	})
}
