package stripeapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

type subscription struct {
	terms
	id, item, customer, status string
	metadata                   map[string]string
	created                    time.Time
	anchor                     int // the day of the month on which periods begin
	start, end                 time.Time
	trialEnd                   time.Time
	withoutCard                string // trial_settings[end_behavior][missing_payment_method]
	cancelAtPeriodEnd          bool
	cancelAt                   time.Time // instead of cancelAtPeriodEnd; zero if it is not set
	cancellation               payment.Cancellation
	paused                     bool // pause_collection is set to void invoices
	meterItem                  string
	turned                     bool // the items were shown in another order last
	meterSince                 time.Time
	unbilled                   *line  // what was used, while the next period is billed
	def                        string // the id of its own default method; "" if the customer's is charged
	latest                     *invoice
	automaticTax               bool
	setup                      *setupIntent
	schedule                   *schedule
	pending                    *pendingUpdate
	retries                    int
	retryAt                    time.Time
	discount                   *discount // nil if there is none
	deducted                   int64     // from the price of the current period
}

// pendingUpdate is a change that is made when its invoice is paid
// (https://docs.stripe.com/billing/subscriptions/pending-updates).
type pendingUpdate struct {
	terms
	anchor     int
	start, end time.Time
	invoice    *invoice
	expires    time.Time
	deducted   int64
}

func (u *subscription) live() bool { return payment.Status(u.status).Live() }

func unix(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func showPrice(p payment.Plan) map[string]any {
	return map[string]any{
		"id": p.PriceRef, "object": "price", "active": !p.Unavailable, "currency": p.Price.Currency,
		"unit_amount": p.Price.Amount, "type": "recurring",
		"billing_scheme": "per_unit", "transform_quantity": nil,
		"recurring": map[string]any{"interval": string(p.Interval), "interval_count": p.IntervalCount,
			"usage_type": "licensed"}, "livemode": false, "metadata": map[string]string{},
	}
}

// show is u with what is expanded of it.
func (u *subscription) show(expanded []string) map[string]any {
	out := map[string]any{
		"id": u.id, "object": "subscription", "status": u.status, "customer": u.customer, "created": u.created.Unix(),
		"metadata": u.metadata, "livemode": false,
		"cancel_at_period_end": u.cancelAtPeriodEnd, "trial_end": unix(u.trialEnd), "latest_invoice": nil,
		"default_payment_method": orNull(u.def),
		"pending_setup_intent":   nil, "schedule": nil,
		"items": map[string]any{"object": "list", "has_more": false, "url": "/v1/subscription_items",
			"data": u.showItems()},
		"cancel_at": unix(u.cancelAt), "default_tax_rates": showRates(u.rates),
	}
	u.showPause(out)
	out["discounts"] = showDiscounts(u.discounts(), u, expanded)
	if p := u.pending; p != nil {
		item := map[string]any{"id": u.item, "object": "subscription_item", "quantity": p.quantity,
			"price": showPrice(p.plan)}
		out["pending_update"] = map[string]any{"expires_at": p.expires.Unix(), "subscription_items": []any{item}}
	}
	latest := u.latest
	if u.pending != nil {
		latest = u.pending.invoice
	}
	if i := latest; i != nil {
		out["latest_invoice"] = i.id
		if slices.Contains(expanded, "latest_invoice.payments") ||
			slices.Contains(expanded, "latest_invoice.confirmation_secret") {
			out["latest_invoice"] = i.show(expanded)
		}
	}
	if i := u.setup; i != nil {
		out["pending_setup_intent"] = i.id
		if slices.Contains(expanded, "pending_setup_intent") {
			out["pending_setup_intent"] = i.show()
		}
	}
	if c := u.schedule; c != nil {
		out["schedule"] = c.id
		if slices.Contains(expanded, "schedule") {
			out["schedule"] = c.show()
		}
	}
	return out
}

func (s *Server) subscription(id string) *subscription {
	i := slices.IndexFunc(s.subscriptions, func(u *subscription) bool { return u.id == id })
	if i < 0 {
		return nil
	}
	return s.subscriptions[i]
}

func (s *Server) price(ref string) *payment.Plan {
	for i := range s.plans {
		if s.plans[i].PriceRef == ref {
			return &s.plans[i]
		}
	}
	return nil
}

func (s *Server) readPrice(_ form, r *http.Request) any {
	p := s.price(r.PathValue("id"))
	if metered := s.meteredPrice(r.PathValue("id")); metered != nil {
		return showMeteredPrice(metered)
	}
	if p == nil {
		return missing(404, "price")
	}
	return showPrice(*p)
}

func (s *Server) subscribe(f form, _ *http.Request) any {
	c, now := s.customer(f.Get("customer")), s.now()
	days := int(f.number("trial_period_days"))
	var given *discount
	switch {
	case c == nil:
		return missing(400, "customer")
	case f.Get("payment_behavior") != "allow_incomplete":
		return invalid("payment_behavior") // the one way that is modelled
	case f.Get("automatic_tax[enabled]") == "true" && !taxable(c.address):
		return locationInvalid
	}
	if id := f.Get("discounts[0][promotion_code]"); id != "" {
		var refused *refusal
		if given, refused = s.redeem(c, id, "discounts[0][promotion_code]"); refused != nil {
			return *refused
		}
	}
	sold, refused := s.sold(f, "items", new(terms))
	if refused != nil {
		return *refused
	}
	u := s.order(c, sold, f.under("metadata"), now)
	if u.give(given); c.def == "" && days == 0 && u.cost(now) > 0 {
		return missing(400, "") // "no attached payment source or default payment method"
	}
	for _, other := range s.subscriptions {
		if other.customer == c.id && other.live() { // allowed there; Atrium never wants it
			s.wrongs = append(s.wrongs, "a second subscription of "+c.id+" beside "+other.id)
		}
	}
	u.automaticTax = f.Get("automatic_tax[enabled]") == "true"
	s.subscriptions = append(s.subscriptions, u)
	if days > 0 {
		u.status, u.trialEnd = "trialing", now.AddDate(0, 0, days)
		u.end = u.trialEnd
		u.withoutCard = f.Get("trial_settings[end_behavior][missing_payment_method]")
		if c.def == "" {
			u.setup = s.setUp(c, "off_session", nil)
		}
		s.bill(u, 0, true)
		return u.show(f.expanded())
	}
	if i := s.billPeriod(u, true, now); i.status != "paid" {
		u.status = "incomplete"
	}
	return u.show(f.expanded())
}

// Subscribe makes a subscription as the dashboard or a payment link does, without Atrium, and returns its
// identifier.
func (s *Server) Subscribe(customer, price string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.order(s.customer(customer), terms{plan: *s.price(price), quantity: 1}, map[string]string{}, s.now())
	s.subscriptions = append(s.subscriptions, u)
	s.bill(u, u.amount(), true)
	return u.id
}

// order returns a subscription that is not stored yet.
func (s *Server) order(
	c *customer, t terms, metadata map[string]string, now time.Time,
) *subscription {
	u := &subscription{
		id: s.id("sub"), item: s.id("si"), customer: c.id, status: "active", metadata: metadata, created: now,
		anchor: now.Day(), start: now,
	}
	s.sell(u, t, now)
	u.end = u.plan.Interval.Advance(now, u.plan.IntervalCount, u.anchor)
	return u
}

func (s *Server) listSubscriptions(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.subscriptions, func(u *subscription) bool {
		return u.customer == f.Get("customer") && (f.Get("status") == "all" || u.live())
	}), func(u *subscription) map[string]any { return u.show(f.expanded()) })
}

func (s *Server) readSubscription(f form, r *http.Request) any {
	u := s.subscription(r.PathValue("id"))
	if u == nil {
		return missing(404, "id")
	}
	return u.show(f.expanded())
}

func (s *Server) updateSubscription(f form, r *http.Request) any {
	u, now := s.subscription(r.PathValue("id")), s.now()
	ends := f.Get("cancel_at_period_end")
	switch {
	case u == nil:
		return missing(404, "id")
	case !u.live():
		return invalid("id") // one that has ended takes nothing but metadata
	case ends != "" && f.Has("cancel_at"), f.Get("cancel_at") != "": // one of them says when
		return invalid("cancel_at")
	case (ends != "" || f.Has("cancel_at")) && u.schedule != nil:
		// "managed by the subscription schedule": https://github.com/laravel/cashier-stripe/issues/1748
		return invalid("cancel_at_period_end")
	case u.pending != nil: // Stripe has rules for each change; Atrium voids the pending one first
		return invalid("pending_update")
	}
	waits := f.Get("payment_behavior") == "pending_if_incomplete"
	for name := range f.Values {
		if root, _, _ := strings.Cut(name, "["); waits && !slices.Contains(withPendingUpdate, root) {
			return invalid(root) // https://docs.stripe.com/billing/subscriptions/pending-updates-reference
		}
	}
	if b := f.Get("payment_behavior"); b != "error_if_incomplete" && !waits && (b != "" || f.Has("items[0][id]")) {
		return invalid("payment_behavior")
	}
	if refused := s.pause(u, f, now); refused != nil {
		return *refused
	}
	before, given := u.discount, (*discount)(nil)
	if id := f.Get("discounts[0][promotion_code]"); id != "" {
		var refused *refusal
		if given, refused = s.redeem(s.customer(u.customer), id, "discounts[0][promotion_code]"); refused != nil {
			return *refused
		}
		u.discount = given
	}
	endsTrial := f.Get("trial_end") == "now" && u.status == "trialing"
	if f.Has("trial_end") && !endsTrial { // another end is not modelled
		return invalid("trial_end")
	}
	if len(f.under("items")) > 0 || endsTrial {
		if f.Get("proration_behavior") != "always_invoice" {
			return invalid("proration_behavior")
		}
		at, inPeriod := u.prorated(f, "proration_date", now)
		if !inPeriod {
			return invalid("proration_date")
		}
		changed, refused := u.clone(), (*refusal)(nil)
		if len(f.under("items")) > 0 {
			changed, refused = s.changed(u, f, "items")
		}
		if refused != nil {
			return *refused
		}
		if changed.plan.Interval != u.plan.Interval && u.schedule != nil && u.status != "trialing" {
			return invalid("items") // what becomes of its phases, which have the old period, is not documented
		}
		if out, refused := s.resell(u, changed, endsTrial, waits, at, now).(refusal); refused {
			u.discount = before
			return out
		}
	}
	if given != nil {
		given.promotion.redeemed++
	}
	u.explain(f)
	if ends != "" {
		u.cancelAtPeriodEnd, _ = strconv.ParseBool(ends)
	}
	if ends != "" || f.Has("cancel_at") {
		u.cancelAt = time.Time{}
	}
	if m := f.Get("default_payment_method"); m != "" {
		if s.customer(u.customer).method(m) == nil {
			return missing(400, "default_payment_method")
		}
		u.def = m
	}
	for name, value := range f.under("metadata") {
		u.metadata[name] = value
	}
	return u.show(f.expanded())
}

// withPendingUpdate are the parameters that can go with pending_if_incomplete.
var withPendingUpdate = []string{"expand", "payment_behavior", "proration_behavior", "proration_date", "items", "trial_end"}

// resell changes what is sold, and bills the difference for the rest of the period; another interval begins a
// new period. What is left over is credited. If the difference cannot be charged, nothing changes, but with
// pending_if_incomplete the change waits for its invoice.
func (s *Server) resell(
	u *subscription, t terms, endsTrial, waits bool, at, now time.Time,
) any {
	was := *u
	if u.status == "trialing" && !endsTrial {
		s.sell(u, t, now)
		return nil
	}
	amount := u.change(t, at, now)
	if endsTrial {
		amount = u.beginPaying(now)
	}
	meter := u.meter
	u.meter = was.meter
	defer func() {
		if u.plan.PriceRef == t.plan.PriceRef { // it was made
			s.measure(u, meter, now)
		}
	}()
	c := s.customer(u.customer)
	if amount <= 0 {
		u.spend(now)
		c.credit -= amount + s.tax(u, amount)
		return nil
	}
	decline, asks := "", false
	if amount+s.tax(u, amount) > c.credit {
		decline, asks = s.wouldDecline(u, true)
	}
	switch {
	case (decline != "" || asks) && waits:
		p := &pendingUpdate{terms: u.terms, anchor: u.anchor, start: u.start, end: u.end, deducted: u.off(now)}
		p.invoice = s.bill(u, amount, true)
		*u = was
		if p.expires = now.Add(incompleteFor); u.end.Before(p.expires) {
			p.expires = u.end
		}
		u.pending = p
		return nil
	case decline != "" || asks:
		*u = was
		code := "card_declined"
		if asks {
			code, decline = "subscription_payment_intent_requires_action", ""
		}
		return refusal{402, "card_error", code, decline, ""}
	}
	s.bill(u, amount, false)
	u.spend(now)
	return nil
}

// apply makes a pending update, whose invoice was paid.
func (u *subscription) apply() {
	p := u.pending
	if u.status == "trialing" { // only an update that ends it waits
		u.status, u.trialEnd = "active", p.start
	}
	u.pending, u.terms, u.anchor, u.start, u.end = nil, p.terms, p.anchor, p.start, p.end
	u.deducted = p.deducted
}

func (s *Server) cancelSubscription(f form, r *http.Request) any {
	u := s.subscription(r.PathValue("id"))
	if u == nil || !u.live() {
		return missing(404, "id") // of one that has ended too: https://github.com/stripe/stripe-go/issues/1887
	}
	u.explain(f)
	if f.Get("invoice_now") == "true" {
		s.billUsage(u, s.now())
	}
	s.end(u, "canceled")
	return u.show(nil)
}
