package stripesim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// How much of its past a customer keeps. Every call reads all its objects: without these limits, one caller who repeats
// a change could make each call of the workspace slower without end.
const (
	maxAnswers   = 100 // more than a workspace can have in progress
	maxIntents   = 50  // setup intents
	maxEnded     = 20  // subscriptions
	maxCharges   = 1000
	maxCheckouts = 20
	maxDetached  = 20
	usageFor     = 400 * 24 * time.Hour // longer than a period
)

// prune forgets the oldest of what nothing refers to any more.
func (s *account) prune() {
	s.subscriptions = latest(s.subscriptions, maxEnded, (*subscription).live)
	s.invoices = latest(s.invoices, payment.MirroredInvoices, func(i *invoice) bool {
		return i.Status == "open" || i.Status == "draft"
	})
	s.charges = latest(s.charges, maxCharges, func(*Charge) bool { return false })
	s.refunds = slices.DeleteFunc(s.refunds, func(r *refund) bool { return s.charge(r.Charge) == nil })
	s.disputes = slices.DeleteFunc(s.disputes, func(d *dispute) bool { return s.charge(d.Charge) == nil })
	s.notes = slices.DeleteFunc(s.notes, func(n *creditNote) bool { return s.invoice(n.Invoice) == nil })
	s.checkouts = latest(s.checkouts, maxCheckouts, func(*checkout) bool { return false })
	s.methods = latest(s.methods, maxDetached, func(m *method) bool { return m.Customer != "" })
	s.usage = slices.DeleteFunc(s.usage, func(e *meterEvent) bool { return s.now().Sub(e.At) > usageFor })
	waiting := map[string]bool{}
	for _, u := range s.subscriptions {
		if u.setup != nil {
			waiting[u.setup.ID] = true
		}
	}
	keep(s.setups, maxIntents, func(i *setupIntent) bool { return waiting[i.ID] })
	for _, i := range s.invoices {
		if i.intent != nil {
			waiting[i.intent.ID] = true
		}
	}
	keep(s.payments, 0, func(i *paymentIntent) bool { return waiting[i.ID] })
	maps.DeleteFunc(s.answers, func(_ string, k *kept) bool { return !s.remembers(k) })
	if surplus := len(s.answers) - maxAnswers; surplus > 0 {
		keys := slices.SortedFunc(maps.Keys(s.answers), func(x, y string) int {
			return cmp.Or(s.answers[x].At.Compare(s.answers[y].At), cmp.Compare(x, y))
		})
		for _, key := range keys[:surplus] {
			delete(s.answers, key)
		}
	}
}

// latest returns the n latest of all, which begins with the oldest, and those that must be kept.
func latest[T any](all []T, n int, isKept func(T) bool) []T {
	surplus := len(all) - n
	var rest []T
	for i, item := range all {
		if i >= surplus || isKept(item) {
			rest = append(rest, item)
		}
	}
	return rest
}

// keep leaves the n newest objects, and those that must be kept.
func keep[T any](all map[string]T, n int, isKept func(T) bool) {
	ids := slices.Sorted(maps.Keys(all))
	for _, id := range ids[:max(len(ids)-n, 0)] {
		if !isKept(all[id]) {
			delete(all, id)
		}
	}
}

// put adds objects by their identifiers.
func put[T any](all map[string]any, objects []*T, id func(*T) string) {
	for _, one := range objects {
		all[id(one)] = one
	}
}
