package stripesim

import (
	"strings"
	"time"
)

// A direct debit is on its way until the bank answers, which takes days in reality and minutes for the test accounts
// (https://docs.stripe.com/testing#non-card-payments). Until then the invoice is open, its payment intent is
// processing, and the subscription is active (https://docs.stripe.com/billing/subscriptions/sepa-debit). Unlike at
// Stripe, an account in the United States needs no verification by small deposits.
const (
	debitTakes     = time.Minute
	lateDebitTakes = 3 * time.Minute
)

// The types of bank accounts, which are their brands in the table of test cards.
const (
	sepa = "sepa_debit"
	ach  = "us_bank_account"
)

// debitCurrency is the only currency that accounts of a type can be debited in.
var debitCurrency = map[string]string{sepa: "eur", ach: "usd"}

// How a bank answers.
const (
	late  = "late" // later than others; it begins the behaviour
	never = "never_answers"
)

// isDebit reports whether m is a bank account.
func (m *method) isDebit() bool { return debitCurrency[m.Brand] != "" }

// showAccount is a bank account as Stripe returns it.
func (m *method) showAccount() map[string]any {
	out := map[string]any{"last4": m.Last4, "fingerprint": m.Fingerprint}
	if m.Brand == ach {
		out["bank_name"], out["account_type"], out["account_holder_type"] = "STRIPE TEST BANK", "checking", "individual"
		return out
	}
	out["country"] = m.Country
	return out
}

// onTheWay reports whether an invoice is charged to a bank account, whose bank has not answered yet.
func (i *invoice) onTheWay() bool { return i.intent != nil && i.intent.Status == "processing" }

// chargeInvoice pays an invoice, or begins to debit a bank account for it.
func (s *account) chargeInvoice(i *invoice) {
	m := s.payerOf(i)
	if i.Due == 0 || m == nil || !m.isDebit() {
		s.pay(i)
		return
	}
	duration := debitTakes
	if strings.HasPrefix(string(m.Behaviour), late) {
		duration = lateDebitTakes
	}
	i.Status, i.PaidAt = "open", time.Time{}
	i.intent.Status, i.intent.Method = "processing", m.ID
	if i.intent.Settles = s.now().Add(duration); m.Behaviour == never {
		i.intent.Settles = time.Time{}
	}
}

// debits returns what will happen to the debits that are on their way.
func (s *account) debits() (all []step) {
	for _, i := range s.invoices {
		if i.onTheWay() && !i.intent.Settles.IsZero() {
			all = append(all, step{i.intent.Settles, func() { s.settle(i) }})
		}
	}
	return all
}

// settle is the bank's answer to a direct debit. A subscription whose debit fails has begun already: it is past due.
func (s *account) settle(i *invoice) {
	reason := ""
	if m := s.method(i.intent.Method); m != nil {
		reason = m.Behaviour.rules().charging
	}
	u := s.subscription(i.Subscription)
	if reason == "" {
		if s.collect(i); u != nil && u.latest == i {
			u.Retries = 0
		}
		return
	}
	if i.intent.fail(reason); u == nil || u.latest != i || u.Status != "active" {
		return
	}
	if i.Attempts > 1 {
		u.Retries++
	}
	if u.Status, u.RetryAt = "past_due", s.now().Add(retryEvery); u.Retries >= maxRetries {
		u.Status = "unpaid"
	}
}
