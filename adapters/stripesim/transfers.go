package stripesim

import "time"

// collection is Stripe's collection_method.
func collection(isSent bool) string {
	if isSent {
		return "send_invoice"
	}
	return "charge_automatically"
}

// send leaves an invoice open until it is paid by transfer (https://docs.stripe.com/billing/collection-method). Stripe
// keeps it as a draft for about an hour first, which is left out.
func (i *invoice) send(u *subscription) {
	i.Status, i.PaidAt, i.intent.Status = "open", time.Time{}, "requires_payment_method"
	i.DueAt = i.Created.AddDate(0, 0, u.DaysUntilDue)
}

// nextDue returns when the next invoice of u that was sent is due; zero if none is open.
func (s *account) nextDue(u *subscription) (next time.Time) {
	for _, i := range s.invoices {
		isOpen := i.Subscription == u.ID && i.Status == "open" && !i.DueAt.IsZero()
		if isOpen && (next.IsZero() || i.DueAt.Before(next)) {
			next = i.DueAt
		}
	}
	return next
}

// overdue reports whether an invoice of u that was sent is due: then u is past due
// (https://docs.stripe.com/api/subscriptions/object#subscription_object-status).
func (s *account) overdue(u *subscription) bool {
	next := s.nextDue(u)
	return !next.IsZero() && !s.now().Before(next)
}
