package sandbox

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Subscribe implements ports.GatewaySubscriptions.
func (g *Gateway) Subscribe(ctx context.Context, key string, c payment.CustomerID,
	o payment.Order) (payment.GatewaySubscription, error) {
	s, err := keyed(ctx, g, c, key, subscribing(o),
		func(b *account, now time.Time) (subscription, error) {
			for _, s := range b.Subscriptions { // of a key whose result has expired
				if s.Key == key {
					return *s, nil
				}
			}
			if o.AutomaticTax && !taxable(b.Address) {
				return subscription{}, payment.ErrAddressInvalid
			}
			s := b.newSubscription(key, o, now)
			if err := b.promote(s, o.Promotion, now); err != nil {
				return subscription{}, err
			}
			if o.TrialDays > 0 {
				b.tryOut(s, o.TrialDays)
				s.WithoutCard = o.TrialEnd
				b.add(s, now)
				b.bill(s, 0, true, now)
				return *s, nil
			}
			switch result := b.charge(b.due(b.taxed(s, s.cost(now))), true, now); {
			case result.decline != "":
				b.emit("payment_intent.payment_failed", "payment_intent", "pi_"+name(string(b.ID), key), now)
				return subscription{}, &payment.DeclinedError{DeclineCode: result.decline}
			case result.asks:
				n := &intent{ID: payment.IntentID("pi_" + name(string(b.ID), key)), Status: wantsAction,
					Subscription: s.ID, CreatedAt: now}
				b.Intents = append(b.Intents, n)
				s.Status, s.Intent = payment.Incomplete, n.ID
				b.add(s, now)
				b.billPeriod(s, false, now)
			default:
				b.add(s, now)
				b.billPeriod(s, true, now)
			}
			return *s, nil
		})
	if err != nil {
		return payment.GatewaySubscription{}, err
	}
	return g.held(c, &s), nil
}

// newSubscription returns an active subscription that b does not have yet.
func (b *account) newSubscription(key string, o payment.Order, now time.Time) *subscription {
	s := &subscription{
		ID: payment.SubscriptionID("sub_" + name(string(b.ID), key)), Plan: o.Plan, Quantity: o.Quantity, Key: key,
		Status: payment.Active, Anchor: now.Day(), PeriodStart: now, CreatedAt: now, AutomaticTax: o.AutomaticTax,
	}
	s.PeriodEnd = s.next(now)
	return s
}

// tryOut begins a trial. A payer without a payment method is asked for one.
func (b *account) tryOut(s *subscription, days int) {
	s.Status, s.TrialEnd = payment.Trialing, s.PeriodStart.AddDate(0, 0, days)
	s.PeriodEnd = s.TrialEnd
	if b.method(b.Default) == nil {
		n := &intent{ID: payment.IntentID("seti_" + name(string(s.ID), "setup")), Usage: payment.OffSession,
			Status: wantsMethod, CreatedAt: s.CreatedAt}
		b.Intents = append(b.Intents, n)
		s.Intent = n.ID
	}
}

func (b *account) add(s *subscription, now time.Time) {
	b.Subscriptions = append(b.Subscriptions, s)
	b.emit("customer.subscription.created", "subscription", string(s.ID), now)
}

// held returns s with the action that the payer must take.
func (g *Gateway) held(c payment.CustomerID, s *subscription) payment.GatewaySubscription {
	h := s.held(c)
	if s.Change != nil {
		h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: g.clientSecret(s.Change.Intent)}
	}
	if s.Intent != "" {
		h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: g.clientSecret(s.Intent)}
		if s.Status == payment.Trialing {
			h.Action.Type = payment.ConfirmSetup
		}
	}
	return h
}

// Amend implements ports.GatewaySubscriptions.
func (g *Gateway) Amend(ctx context.Context, key string, c payment.CustomerID, id payment.SubscriptionID,
	a payment.Amendment) (payment.GatewaySubscription, error) {
	s, err := keyed(ctx, g, c, key, "amend "+string(id), func(b *account, now time.Time) (subscription, error) {
		s := b.subscription(id)
		if s == nil || !s.Status.Live() {
			return subscription{}, errNoSuchSubscription
		}
		err := b.amend(s, a, now)
		return *s, err
	})
	if err != nil {
		return payment.GatewaySubscription{}, err
	}
	return g.held(c, &s), nil
}

func (b *account) amend(s *subscription, a payment.Amendment, now time.Time) error {
	b.drop(s)
	if s.Status == payment.Paused && a.Pause != nil && !*a.Pause {
		return b.resell(s, sale{Plan: s.Plan, Quantity: s.Quantity}, true, now, false, now)
	}
	a.Plan.PriceRef = priceRef(a.Plan)
	h := s.held(b.ID)
	d, err := h.Difference(a)
	if err != nil {
		return err
	}
	target := sale{Plan: s.Plan, Quantity: cmp.Or(a.Quantity, s.Quantity), Promotion: a.Promotion}
	if a.Plan.ID != "" {
		target.Plan = a.Plan
	}
	switch {
	case a.Pause != nil:
		err = b.pause(s, a, now)
	case d.AtRenewal && a.Resell && d.Phases != nil:
		s.Next = &target
	case d.AtRenewal && d.Phases != nil:
		s.Next.Promotion = a.Promotion
	case d.EndsTrial, len(d.Items) > 0 && !d.AtRenewal:
		err = b.resell(s, target, d.EndsTrial, a.ProrateAt, a.CancelAtPeriodEnd == nil, now)
	case !d.AtRenewal:
		err = b.promote(s, a.Promotion, now)
	}
	if err != nil {
		return err
	}
	if d.Release {
		s.Next = nil
	}
	if d.End != nil {
		s.CancelAtPeriodEnd = *d.End
	}
	if a.Cancellation != nil {
		s.Cancellation = *a.Cancellation
	}
	b.emit("customer.subscription.updated", "subscription", string(s.ID), now)
	return nil
}

// resell changes what is sold now. The unused part of the payment is credited against the new price for the same time;
// another interval, and the end of a trial, start a new period. canWait says whether the change can wait for the payer.
func (b *account) resell(
	s *subscription, target sale, endsTrial bool, start time.Time, canWait bool, now time.Time,
) error {
	previous := *s
	if start.IsZero() {
		start = now
	}
	period := s.PeriodEnd.Sub(s.PeriodStart)
	remaining := min(s.PeriodEnd.Sub(start), period)
	s.Plan, s.Quantity = target.Plan, target.Quantity
	if err := b.promote(s, target.Promotion, now); err != nil {
		return err
	}
	if s.Status == payment.Trialing && !endsTrial {
		return nil
	}
	amount := payment.Prorate(s.cost(now), remaining, period) - payment.Prorate(previous.bought(), remaining, period)
	if s.Plan.Interval != previous.Plan.Interval || s.Plan.IntervalCount != previous.Plan.IntervalCount {
		s.Anchor, s.PeriodStart = now.Day(), now
		s.PeriodEnd = s.next(now)
		amount = s.cost(now) - payment.Prorate(previous.bought(), remaining, period)
	}
	if endsTrial {
		s.Status, s.TrialEnd, s.Intent, s.Anchor, s.PeriodStart = payment.Active, now, "", now.Day(), now
		s.PeriodEnd = s.next(now)
		amount = s.cost(now)
	}
	if amount < 0 {
		s.spend(now)
		b.Credit -= b.taxed(s, amount)
		b.emit("customer.updated", "customer", string(b.ID), now)
		return nil
	}
	result := b.charge(b.due(b.taxed(s, amount)), true, now)
	if result.asks && canWait && s.Next == nil && target.Promotion == nil {
		b.await(s, &previous, amount, now)
		return nil
	}
	if result.asks {
		result.decline = wantsPayer
	}
	if !result.paid {
		*s = previous
		b.emit("payment_intent.payment_failed", "payment_intent", "pi_"+name(string(b.ID), itoa(b.EventCount)), now)
		return &payment.DeclinedError{DeclineCode: result.decline}
	}
	if amount > 0 {
		b.bill(s, amount, true, now)
	}
	s.spend(now)
	return nil
}

// await leaves s as it was until the payer has authenticated the payment of its change.
func (b *account) await(s, previous *subscription, amount int64, now time.Time) {
	c := &change{
		sale: sale{Plan: s.Plan, Quantity: s.Quantity}, Anchor: s.Anchor, PeriodStart: s.PeriodStart,
		PeriodEnd: s.PeriodEnd, Off: s.deduction(now),
	}
	i := b.bill(s, amount, false, now)
	*s = *previous
	c.Invoice, c.Intent = i.ID, b.askPayer(i, now)
	if c.Until = now.Add(incompleteFor); s.PeriodEnd.Before(c.Until) {
		c.Until = s.PeriodEnd
	}
	s.Change = c
}

// apply makes the change of s whose payment was authenticated.
func (b *account) apply(s *subscription) {
	c := s.Change
	s.Plan, s.Quantity, s.Anchor, s.PeriodStart, s.PeriodEnd = c.Plan, c.Quantity, c.Anchor, c.PeriodStart, c.PeriodEnd
	s.Change, s.Next, s.Off = nil, nil, c.Off
	if s.Status == payment.Trialing { // only a change that ends it waits
		s.Status, s.TrialEnd, s.Intent = payment.Active, c.PeriodStart, ""
	}
	if c.Off > 0 {
		s.endOnce()
	}
}

// drop forgets the change of s that waits for the payer, and voids its invoice.
func (b *account) drop(s *subscription) {
	if s.Change == nil {
		return
	}
	if i := b.invoice(s.Change.Invoice); i != nil && i.Status == payment.Open {
		b.void(i)
	}
	s.Change = nil
}

// GiveUp implements ports.GatewaySubscriptions.
func (g *Gateway) GiveUp(ctx context.Context, key string, c payment.CustomerID, id payment.SubscriptionID) error {
	isPaid, err := keyed(ctx, g, c, key, "give up "+string(id), func(b *account, now time.Time) (bool, error) {
		s := b.subscription(id)
		switch {
		case s == nil || !s.Status.Live():
			return false, nil
		case s.Status != payment.Incomplete:
			return true, nil
		}
		b.end(s, payment.Canceled, now)
		return false, nil
	})
	if err == nil && isPaid {
		err = payment.ErrSubscriptionExists
	}
	return err
}

// Cancel implements ports.GatewaySubscriptions.
func (g *Gateway) Cancel(
	ctx context.Context, key string, c payment.CustomerID, id payment.SubscriptionID, reason payment.Cancellation,
) error {
	_, err := keyed(ctx, g, c, key, "cancel "+string(id), func(b *account, now time.Time) (bool, error) {
		if s := b.subscription(id); s != nil && s.Status.Live() {
			if reason != (payment.Cancellation{}) {
				s.Cancellation = reason
			}
			b.billUsage(s, now)
			b.end(s, payment.Canceled, now)
		}
		return true, nil
	})
	return err
}

// Subscriptions implements ports.GatewaySubscriptions.
func (g *Gateway) Subscriptions(ctx context.Context, c payment.CustomerID) ([]payment.GatewaySubscription, error) {
	b, err := g.read(ctx, c, "subscriptions")
	if err != nil {
		return nil, err
	}
	var all []payment.GatewaySubscription
	for _, s := range b.Subscriptions {
		all = append(all, g.held(c, s))
	}
	return all, nil
}

// Invoices implements ports.GatewaySubscriptions.
func (g *Gateway) Invoices(ctx context.Context, c payment.CustomerID) ([]payment.Invoice, error) {
	b, err := g.read(ctx, c, "invoices")
	if err != nil {
		return nil, err
	}
	var all []payment.Invoice
	for _, i := range slices.Backward(b.Invoices) {
		if len(all) < payment.MirroredInvoices {
			all = append(all, i.Invoice)
		}
	}
	return all, nil
}
