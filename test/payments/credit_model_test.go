package payments

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/require"
)

// modelPacks are the credit packs of the model's shop. No plan allows any messages, so that all come from them.
var modelPacks = payment.Plans{
	{ID: "month", PriceRef: "price_month", Price: payment.Money{Amount: 400, Currency: "usd"},
		Limits: map[string]int64{"messages": 30}, ExpiresAfter: 30},
	{ID: "ever", PriceRef: "price_ever", Price: payment.Money{Amount: 600, Currency: "usd"},
		Limits: map[string]int64{"messages": 20}},
}

// ledger counts credits by the gateway's invoices, and by what Atrium answers. It knows nothing of how Atrium works.
type ledger struct {
	orders   map[string]payment.PackRequest // by the key of the call
	answers  map[string]bool                // whether a call's invoice must be paid, or must not
	accounts map[string]*creditAccount      // of paid invoices
}

// creditAccount is what an invoice has bought.
type creditAccount struct {
	amount, used  int64
	start, expiry time.Time // a zero expiry: never
	isRefunded    bool
}

func newLedger() ledger {
	return ledger{map[string]payment.PackRequest{}, map[string]bool{}, map[string]*creditAccount{}}
}

// spendable returns the invoices whose credit can be spent at a time, in the order in which it is.
func (l *ledger) spendable(now time.Time) []string {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(l.accounts)), func(id string) bool {
		a := l.accounts[id]
		return a.isRefunded || a.used == a.amount || a.hasExpired(now)
	})
	slices.SortStableFunc(ids, func(one, other string) int {
		a, b := l.accounts[one], l.accounts[other]
		if a.expiry.Equal(b.expiry) {
			return a.start.Compare(b.start)
		}
		if a.expiry.IsZero() || b.expiry.IsZero() {
			return b.expiry.Compare(a.expiry)
		}
		return a.expiry.Compare(b.expiry)
	})
	return ids
}

func (a *creditAccount) hasExpired(now time.Time) bool {
	return !a.expiry.IsZero() && !now.Before(a.expiry)
}

// balances returns what is left of the credit that can be spent at a time, by invoice.
func (l *ledger) balances(now time.Time) (all map[string]int64, sum int64) {
	all = map[string]int64{}
	for _, id := range l.spendable(now) {
		all[id] = l.accounts[id].amount - l.accounts[id].used
		sum += all[id]
	}
	return all, sum
}

// spend takes an amount, which is there.
func (l *ledger) spend(now time.Time, amount int64) {
	for _, id := range l.spendable(now) {
		a := l.accounts[id]
		part := min(amount, a.amount-a.used)
		a.used, amount = a.used+part, amount-part
	}
}

// buyPacks charges the default card for credit packs. If the bank asks, the payer sometimes confirms.
func (m *modelWalk) buyPacks(t *testing.T, key string) (string, error) {
	t.Helper()
	order := payment.PackRequest{Pack: modelPacks[m.random.IntN(len(modelPacks))].ID, Quantity: 1 + m.random.IntN(3)}
	m.ledger.orders[key] = order
	p, err := m.troubled.BuyPack(t.Context(), m.now(), key, order)
	switch {
	case err == nil && p.Invoice.Status == payment.Paid:
		m.ledger.answers[key] = true
	case err == nil && p.Action != nil && m.random.IntN(2) == 0:
		m.api.Authenticate(p.Action.ClientSecret.Reveal())
	case err != nil && !payment.OutcomeUnknown(err) && m.mirror(t).Pending == nil: // and the key is not used again
		m.ledger.answers[key] = false
	}
	return "buy packs", err
}

// useCredit consumes messages: as many as the ledger has, or none.
func (m *modelWalk) useCredit(t *testing.T) (string, error) {
	t.Helper()
	_, sum := m.ledger.balances(m.now().At)
	if sum == 0 || m.mirror(t).Pending != nil || m.api.Deleted(m.customer) {
		return "nothing", nil
	}
	amount := 1 + m.random.Int64N(sum+10)
	_, err := m.ConsumeUsage(t.Context(), m.now(), payment.UsageRequest{Feature: "messages", Quantity: amount})
	require.That(t, (err == nil) == (amount <= sum), "%d messages of %d: %v", amount, sum, err)
	if err == nil {
		m.ledger.spend(m.now().At, amount)
	}
	return "use credit", nil
}

// loseCredit refunds a purchase of credit packs in full.
func (m *modelWalk) loseCredit() string {
	for _, c := range slices.Backward(m.api.Charges()) {
		isSale := m.ledger.accounts[c.Invoice] != nil && c.Customer == m.customer
		if isSale && m.refunds[c.Invoice] < c.Amount && !m.api.Deleted(m.customer) {
			m.api.Refund(c.Invoice, c.Amount-m.refunds[c.Invoice])
			m.refunds[c.Invoice] = c.Amount
			return "refund credit"
		}
	}
	return "nothing"
}

// checkCredit fails t if credit packs were paid twice or without a request, or if Atrium's credit is another one than
// the ledger's.
func (m *modelWalk) checkCredit(t *testing.T, occasion string) {
	t.Helper()
	if len(m.ledger.orders) == 0 || m.api.Deleted(m.customer) {
		return
	}
	sales := m.seeSales(t, occasion)
	if m.mirror(t).Pending != nil { // it is not known yet
		return
	}
	for _, s := range sales {
		pack, err := modelPacks.FindPack(m.ledger.orders[s.Key].Pack)
		require.NoError(t, err)
		a := m.ledger.accounts[s.Invoice]
		if a == nil {
			amount := pack.Limits["messages"] * int64(m.ledger.orders[s.Key].Quantity)
			a = &creditAccount{amount: amount, start: s.PaidAt}
			if m.ledger.accounts[s.Invoice] = a; pack.ExpiresAfter > 0 {
				a.expiry = s.PaidAt.AddDate(0, 0, pack.ExpiresAfter)
			}
		}
		a.isRefunded = s.Paid > 0 && m.refunds[s.Invoice] == s.Paid
	}
	bills, err := m.Invoices(t.Context(), m.now(), "", page.Query{Limit: 1}) // which reads them
	require.That(t, err == nil && !bills.Stale, "%s: %+v, %v", occasion, bills, err)
	e, err := m.Entitlements(t.Context(), m.now())
	require.NoError(t, err)
	got := map[string]int64{}
	for _, p := range e.Allowance("messages").Packs {
		got[string(p.Invoice)] = p.Remaining()
	}
	want, _ := m.ledger.balances(m.now().At)
	require.That(t, maps.Equal(got, want), "%s: the credit is %v, want %v", occasion, got, want)
}

// seeSales compares the gateway's invoices for credit packs with what was asked for, and returns those that are paid.
func (m *modelWalk) seeSales(t *testing.T, occasion string) []stripeSale {
	t.Helper()
	sales, byKey := m.sales(), map[string]string{}
	for _, s := range sales {
		order, exists := m.ledger.orders[s.Key]
		require.That(t, exists && byKey[s.Key] == "", "%s: %s was sold for the call %q, as was %q", occasion, s.Invoice,
			s.Key, byKey[s.Key])
		byKey[s.Key] = s.Invoice
		pack, err := modelPacks.FindPack(order.Pack)
		require.NoError(t, err)
		require.That(t, s.Paid <= pack.Price.Amount*int64(order.Quantity), "%s: %d were paid for %+v", occasion, s.Paid,
			order)
	}
	for key, mustBePaid := range m.ledger.answers {
		require.That(t, !mustBePaid || byKey[key] != "", "%s: %q is not paid", occasion, key)
		require.That(t, mustBePaid || byKey[key] == "", "%s: %q was refused, and %s is paid", occasion, key, byKey[key])
	}
	return sales
}

// stripeSale is a paid invoice for credit packs at the gateway.
type stripeSale struct {
	Invoice, Key string
	Paid         int64 // by cards
	PaidAt       time.Time
}

// sales returns the paid invoices for credit packs of the customer.
func (m *modelWalk) sales() (all []stripeSale) {
	charges := map[string]int64{}
	for _, c := range m.api.Charges() {
		charges[c.Invoice] += c.Amount
	}
	for id, i := range m.api.PackInvoices(m.customer) {
		all = append(all, stripeSale{id, i.Key, charges[id], i.PaidAt})
	}
	return all
}

// checkExpiry fails t if the events about credit packs differ from the ledger, or come twice.
func (m *modelWalk) checkExpiry(t *testing.T) {
	t.Helper()
	if m.mirror(t).ID == "" { // nothing is looked after until the workspace is a customer again
		return
	}
	for range 2 {
		require.NoError(t, m.Audit(t.Context(), m.system()))
	}
	want := map[string]int64{}
	for id, a := range m.ledger.accounts {
		if a.hasExpired(m.now().At) && !a.isRefunded && a.used < a.amount {
			want["credit_pack.expired "+id] = a.amount - a.used
		}
		want["credit_pack.purchased "+id] = a.amount
	}
	got := m.eventSums(t)
	maps.DeleteFunc(got, func(key string, _ int64) bool { return !strings.HasPrefix(key, "credit_pack.") })
	require.That(t, maps.Equal(got, want), "the events are %v, want %v", got, want)
	t.Logf("%d credit packs, of which %d expired in part", len(m.ledger.accounts), len(want)-len(m.ledger.accounts))
}
