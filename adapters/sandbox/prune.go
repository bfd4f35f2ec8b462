package sandbox

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/payment"
)

// How much of its past an account keeps. Every call reads and writes the whole account: without these limits, one
// caller who repeats a change could make each call of the workspace slower without end.
const (
	maxAnswers = 100 // more than a workspace can have in progress
	maxIntents = 50
	maxEnded   = 20 // subscriptions
)

// encode returns an account as it is stored.
func encode(b *account) ([]byte, error) {
	b.prune()
	return json.Marshal(b)
}

// prune forgets the oldest of what nothing refers to any more.
func (b *account) prune() {
	b.pruneInvoices()
	b.Subscriptions = newest(b.Subscriptions, maxEnded, func(s *subscription) bool { return s.Status.Live() })
	b.Intents = newest(b.Intents, maxIntents, b.awaited)
	if len(b.Answers) > maxAnswers {
		keys := slices.SortedFunc(maps.Keys(b.Answers), func(x, y string) int {
			return cmp.Or(b.Answers[x].At.Compare(b.Answers[y].At), cmp.Compare(x, y))
		})
		for _, key := range keys[:len(keys)-maxAnswers] {
			delete(b.Answers, key)
		}
	}
}

// pruneInvoices keeps the invoices that a mirror reads, and those that can still be paid.
func (b *account) pruneInvoices() {
	b.InvoiceCount = b.invoiceCount()
	b.HasPaid = b.hasPaid()
	b.Invoices = newest(b.Invoices, payment.MirroredInvoices,
		func(i *invoice) bool { return i.Status == payment.Open || i.Status == payment.Draft })
}

// invoiceCount returns how many invoices there have been. An account that an earlier version stored has all of them.
func (b *account) invoiceCount() int { return max(b.InvoiceCount, len(b.Invoices)) }

// awaited reports whether a subscription or the payment of an invoice waits for an intent.
func (b *account) awaited(n *intent) bool {
	return (n.Status == wantsAction && n.Subscription != "") ||
		slices.ContainsFunc(b.Subscriptions, func(s *subscription) bool {
			return s.Intent == n.ID || (s.Change != nil && s.Change.Intent == n.ID)
		})
}

// newest returns the n newest of all, which begins with the oldest, and those that must be kept.
func newest[T any](all []T, n int, keep func(T) bool) []T {
	surplus := len(all) - n
	if surplus <= 0 {
		return all
	}
	var rest []T
	for i, item := range all {
		if i >= surplus || keep(item) {
			rest = append(rest, item)
		}
	}
	return rest
}
