package sandbox

import (
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// pause pauses a subscription, or resumes it. Resuming in a period that was not paid starts a new period, which is
// charged.
func (b *account) pause(s *subscription, a payment.Amendment, now time.Time) error {
	if *a.Pause {
		s.Paused, s.PaidUntil, s.Next = true, s.PeriodEnd, nil
		return nil
	}
	if restarts := !a.PaidUntil.IsZero() && !s.PeriodStart.Before(a.PaidUntil); restarts {
		result := b.charge(b.due(b.taxed(s, s.cost(now))), true, now)
		if result.asks {
			result.decline = wantsPayer
		}
		if !result.paid {
			b.emit("payment_intent.payment_failed", "payment_intent",
				"pi_"+name(string(b.ID), itoa(b.EventCount)), now)
			return &payment.DeclinedError{DeclineCode: result.decline}
		}
		s.Anchor, s.PeriodStart = now.Day(), now
		s.PeriodEnd = s.next(now)
		b.billPeriod(s, true, now)
	}
	s.Paused, s.PaidUntil = false, time.Time{}
	return nil
}

// skip begins a period of a paused subscription, whose invoice is void.
func (b *account) skip(s *subscription, now time.Time) {
	s.unbilled = nil
	s.PeriodStart, s.PeriodEnd = now, s.next(now)
	b.write(s, s.price(), payment.Void, now)
	b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
}
