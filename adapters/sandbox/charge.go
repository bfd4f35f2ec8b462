package sandbox

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// outcome is a charge's outcome.
type outcome struct {
	paid    bool
	asks    bool   // the bank asks the payer
	decline string // why not
}

// wantsPayer is the decline code for a card that needs authentication while the payer is absent.
const wantsPayer = "authentication_required"

// due returns how much of the amount the customer's credit does not cover.
func (b *account) due(amount int64) int64 { return max(amount-b.Credit, 0) }

// charge tries the customer's default method. present says whether the payer is there to be asked.
func (b *account) charge(amount int64, present bool, now time.Time) outcome {
	if amount <= 0 {
		return outcome{paid: true}
	}
	m := b.method(b.Default)
	if m == nil {
		return outcome{decline: "missing_payment_method"}
	}
	card := m.shown()
	switch {
	case card.Expired(now):
		return outcome{decline: "expired_card"}
	case m.Behaviour == failsLater:
		return outcome{decline: "generic_decline"}
	case m.Behaviour == wantsBank && present:
		return outcome{asks: true}
	case m.Behaviour == wantsBank:
		return outcome{decline: wantsPayer}
	}
	return outcome{paid: true}
}

// bill writes an invoice for a subscription's present period.
func (b *account) bill(s *subscription, amount int64, isPaid bool, now time.Time) *invoice {
	i := b.write(s, amount, payment.Open, now)
	if isPaid {
		b.pay(i, now)
	}
	return i
}

func (b *account) write(s *subscription, amount int64, status payment.InvoiceStatus, now time.Time) *invoice {
	n := b.invoiceCount()
	i := &invoice{Subscription: s.ID, Invoice: payment.Invoice{
		ID:     payment.InvoiceID("in_" + name(string(b.ID), "invoice", itoa(n))),
		Number: "SANDBOX-" + itoa(n+1),
		Status: status, Currency: s.Plan.Price.Currency, Subtotal: amount, Tax: b.tax(s, amount),
		Total: b.taxed(s, amount), AmountDue: b.taxed(s, amount), BilledTo: b.details(),
		Lines:       []payment.InvoiceLine{s.line(amount)},
		PeriodStart: s.PeriodStart, PeriodEnd: s.PeriodEnd, DueAt: now, CreatedAt: now,
	}}
	if status == payment.Open {
		b.deduct(i)
	}
	b.Invoices, b.InvoiceCount = append(b.Invoices, i), n+1
	b.emit("invoice.created", "invoice", string(i.ID), now)
	return i
}

// credit returns the customer's credit, in the currency of its newest subscription.
func (b *account) credit() payment.Money {
	if b.Credit == 0 || len(b.Subscriptions) == 0 {
		return payment.Money{}
	}
	return payment.Money{Amount: b.Credit, Currency: b.Subscriptions[len(b.Subscriptions)-1].Plan.Price.Currency}
}

// deduct uses the customer's credit for an invoice that is finalized.
func (b *account) deduct(i *invoice) {
	credit := min(b.Credit, i.Total)
	b.Credit -= credit
	i.AmountDue = i.Total - credit
}

// void voids an open invoice, returns the credit that was used for it, and cancels its intents.
func (b *account) void(i *invoice) {
	b.Credit += i.Total - i.AmountDue
	i.Status = payment.Void
	for _, n := range b.Intents {
		if n.Invoice == i.ID && n.Status == wantsAction {
			n.Status = canceled
		}
	}
}

func (b *account) pay(i *invoice, now time.Time) {
	i.Status, i.AmountPaid, i.PaidAt = payment.Paid, i.AmountDue, now
	b.emit("invoice.paid", "invoice", string(i.ID), now)
}

// invoice returns an invoice, or nil.
func (b *account) invoice(id payment.InvoiceID) *invoice {
	for _, i := range b.Invoices {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// paid makes an invoice's subscription active again if the invoice is its newest one.
func (b *account) paid(i *invoice, now time.Time) {
	b.pay(i, now)
	s := b.subscription(i.Subscription)
	if s == nil || !s.Status.Live() {
		return
	}
	if s.Change != nil && s.Change.Invoice == i.ID {
		b.apply(s)
		b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
		return
	}
	for _, newer := range b.Invoices[slices.Index(b.Invoices, i)+1:] {
		if newer.Subscription == s.ID && newer.Status != payment.Void && !s.waitsFor(newer) {
			return
		}
	}
	switch s.Status {
	case payment.Incomplete, payment.PastDue, payment.Unpaid:
		s.Status, s.Intent, s.Retries = payment.Active, "", 0
		b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
	}
}

// waitsFor reports whether an invoice belongs to a change that waits for the payer.
func (s *subscription) waitsFor(i *invoice) bool { return s.Change != nil && s.Change.Invoice == i.ID }

// open is a subscription's newest unpaid invoice for a period, or nil.
func (b *account) open(id payment.SubscriptionID) *invoice {
	s := b.subscription(id)
	for n := len(b.Invoices) - 1; n >= 0; n-- {
		if i := b.Invoices[n]; i.Subscription == id && i.Status == payment.Open && (s == nil || !s.waitsFor(i)) {
			return i
		}
	}
	return nil
}

// voidAll voids a subscription's open invoices and cancels its intents that wait for the payer.
func (b *account) voidAll(id payment.SubscriptionID) {
	for i := b.open(id); i != nil; i = b.open(id) {
		b.void(i)
	}
	for _, n := range b.Intents {
		if n.Subscription == id && n.Status == wantsAction {
			n.Status = canceled
		}
	}
}

func (s *subscription) price() int64 { return s.Plan.Price.Amount * int64(s.Quantity) }

// next returns when a period that begins at t ends.
func (s *subscription) next(t time.Time) time.Time {
	return s.Plan.Interval.Advance(t, s.Plan.IntervalCount, s.Anchor)
}

// end ends s. As at Stripe, its open invoices stay, unless its first payment never came.
func (b *account) end(s *subscription, status payment.Status, now time.Time) {
	if s.Status == payment.Incomplete {
		b.voidAll(s.ID)
	}
	b.drop(s)
	s.Status, s.Next, s.Intent = status, nil, ""
	b.emit("customer.subscription.deleted", "subscription", string(s.ID), now)
}

// The periods after which a subscription's state changes.
const (
	incompleteFor = 23 * time.Hour // the payer's time to confirm the first payment
	retryEvery    = 3 * 24 * time.Hour
	trialTold     = 3 * 24 * time.Hour // before its end, as at Stripe (customer.subscription.trial_will_end)
	maxRetries    = 4                  // of a renewal; then it is unpaid
)

// roll processes everything that was due until now, and reports whether anything changed. Each event happens at
// its own time and in order, even if the account was not read for long.
func (b *account) roll(now time.Time) (hasChanged bool) {
	for _, s := range b.Subscriptions {
		for b.step(s, now) {
			hasChanged = true
		}
	}
	for key, a := range b.Answers {
		if now.Sub(a.At) > 24*time.Hour {
			delete(b.Answers, key) // gateways forget keys; this is written with the next change
		}
	}
	return hasChanged
}

// step carries out the next scheduled change of s, if it is due.
func (b *account) step(s *subscription, now time.Time) bool {
	if s.Change != nil && !now.Before(s.Change.Until) {
		b.drop(s)
		return true
	}
	switch s.Status {
	case payment.Incomplete:
		if end := s.CreatedAt.Add(incompleteFor); !now.Before(end) {
			b.end(s, payment.IncompleteExpired, end)
			return true
		}
	case payment.Trialing, payment.Active:
		if notice := s.TrialEnd.Add(-trialTold); s.Status == payment.Trialing && !s.TrialTold && !now.Before(notice) {
			s.TrialTold = true
			b.emit("customer.subscription.trial_will_end", "subscription", string(s.ID), notice)
			return true
		}
		if end := s.PeriodEnd; !now.Before(end) {
			b.renew(s, end)
			return true
		}
	case payment.PastDue:
		if end := s.PeriodEnd; end.Before(s.RetryAt) && !now.Before(end) {
			b.renew(s, end)
			return true
		}
		if retry := s.RetryAt; !now.Before(retry) {
			b.retry(s, retry)
			return true
		}
	case payment.Unpaid:
		if end := s.PeriodEnd; !now.Before(end) {
			b.draft(s, end)
			return true
		}
	}
	return false
}

func (b *account) renew(s *subscription, now time.Time) {
	if s.CancelAtPeriodEnd {
		b.billUsage(s, now)
		b.end(s, payment.Canceled, now)
		return
	}
	if s.Status == payment.Trialing && s.WithoutCard != "" && b.method(b.Default) == nil {
		if s.Intent = ""; s.WithoutCard == payment.CancelTrial {
			b.end(s, payment.Canceled, now)
			return
		}
		s.Status = payment.Paused
		b.emit("customer.subscription.paused", "subscription", string(s.ID), now)
		return
	}
	s.unbilled = b.used(s, s.PeriodStart, now)
	if s.Next != nil {
		s.redeem(s.Next.Promotion, now)
		if s.Next.Plan.Interval != s.Plan.Interval { // a month after weeks begins on any day
			s.Anchor = now.Day()
		}
		s.Plan, s.Quantity, s.Next = s.Next.Plan, s.Next.Quantity, nil
	}
	if s.Status == payment.Trialing {
		s.Anchor = now.Day()
	}
	if s.Paused {
		s.Status = payment.Active
		b.skip(s, now)
		return
	}
	s.PeriodStart, s.PeriodEnd, s.Intent = now, s.next(now), ""
	result := b.charge(b.due(b.taxed(s, s.cost(now)+s.usageCost(now))), false, now)
	b.billPeriod(s, result.paid, now)
	previous := s.Status
	s.Status = payment.Active
	if !result.paid {
		s.Status = payment.PastDue
		if previous != payment.PastDue {
			s.Retries, s.RetryAt = 0, now.Add(retryEvery)
		}
		b.emit("invoice.payment_failed", "invoice", string(b.open(s.ID).ID), now)
	}
	if result.decline == wantsPayer {
		s.Intent = b.askPayer(b.open(s.ID), now)
	}
	b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
}

// draft begins a period for an unpaid subscription. Its invoice stays a draft, which is not charged
// (https://docs.stripe.com/billing/subscriptions/overview#unpaid).
func (b *account) draft(s *subscription, now time.Time) {
	if s.CancelAtPeriodEnd {
		b.end(s, payment.Canceled, now)
		return
	}
	s.unbilled = b.used(s, s.PeriodStart, now)
	s.PeriodStart, s.PeriodEnd = now, s.next(now)
	b.discounted(s, b.write(s, s.cost(now)+s.usageCost(now), payment.Draft, now), now)
}

func (b *account) retry(s *subscription, now time.Time) {
	i := b.open(s.ID)
	switch {
	case i == nil || b.charge(i.AmountDue, false, now).paid:
		if i != nil {
			b.pay(i, now)
		}
		s.Status, s.Retries, s.Intent = payment.Active, 0, ""
	case s.Retries+1 >= maxRetries:
		s.Status, s.Intent = payment.Unpaid, ""
	default:
		s.Retries++
		s.RetryAt = now.Add(retryEvery)
	}
	b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
}
