package stripesim

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
	ID, Item, Customer, Status string
	Metadata                   map[string]string
	Created                    time.Time
	Anchor                     int // the day of the month on which periods begin
	Start, End                 time.Time
	TrialEnd                   time.Time
	WithoutCard                string // trial_settings[end_behavior][missing_payment_method]
	TrialTold                  bool   // an event has told that the trial ends soon
	CancelAtPeriodEnd          bool
	CancelAt                   time.Time // instead of cancelAtPeriodEnd; zero if it is not set
	Cancellation               payment.Cancellation
	Paused                     bool // pause_collection is set to void invoices
	MeterItem                  string
	turned                     bool // the items were shown in another order last
	MeterSince                 time.Time
	Unbilled                   *line  // what was used, while the next period is billed
	Default                    string // the id of its own default method; "" if the customer's is charged
	Latest, Setup              string // the identifiers of the next two
	latest                     *invoice
	AutomaticTax               bool
	setup                      *setupIntent
	schedule                   *schedule
	Pending                    *pendingUpdate
	Retries                    int
	RetryAt                    time.Time
	Discount                   *discount // or nil
	Deducted                   int64     // from the price of the current period
	DaysUntilDue               int       // collection_method is send_invoice; 0: it is charged
}

// pendingUpdate is a change that is made when its invoice is paid
// (https://docs.stripe.com/billing/subscriptions/pending-updates).
type pendingUpdate struct {
	terms
	Anchor     int
	Start, End time.Time
	Invoice    string // its identifier
	invoice    *invoice
	Expires    time.Time
	Deducted   int64
}

func (u *subscription) live() bool { return payment.Status(u.Status).Live() }

func unix(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// show is u with what is expanded of it.
func (s *account) showSubscription(u *subscription, expanded []string) map[string]any {
	out := map[string]any{
		"id": u.ID, "object": "subscription", "status": u.Status, "customer": u.Customer, "created": u.Created.Unix(),
		"metadata": u.Metadata, "livemode": false,
		"cancel_at_period_end": u.CancelAtPeriodEnd, "trial_end": unix(u.TrialEnd), "latest_invoice": nil,
		"default_payment_method": orNull(u.Default),
		"pending_setup_intent":   nil, "schedule": nil,
		"items": map[string]any{"object": "list", "has_more": false, "url": "/v1/subscription_items",
			"data": u.showItems(expanded)}, "currency": u.Plan.Price.Currency,
		"cancel_at": unix(u.CancelAt), "default_tax_rates": showRates(u.Rates), "days_until_due": nil,
		"collection_method": collection(u.DaysUntilDue > 0),
	}
	if u.DaysUntilDue > 0 {
		out["days_until_due"] = u.DaysUntilDue
	}
	u.showPause(out)
	out["discounts"] = showDiscounts(u.discounts(), u, expanded)
	if p := u.Pending; p != nil {
		next := *u
		next.terms = p.terms
		out["pending_update"] = map[string]any{
			"expires_at": p.Expires.Unix(), "subscription_items": next.showItems(expanded),
		}
	}
	latest := u.latest
	if u.Pending != nil {
		latest = u.Pending.invoice
	}
	if i := latest; i != nil {
		out["latest_invoice"] = i.ID
		if slices.Contains(expanded, "latest_invoice.payments") ||
			slices.Contains(expanded, "latest_invoice.confirmation_secret") {
			out["latest_invoice"] = s.showInvoice(i, expanded)
		}
	}
	if i := u.setup; i != nil {
		out["pending_setup_intent"] = i.ID
		if slices.Contains(expanded, "pending_setup_intent") {
			out["pending_setup_intent"] = s.showSetup(i)
		}
	}
	if c := u.schedule; c != nil {
		out["schedule"] = c.ID
		if slices.Contains(expanded, "schedule") {
			out["schedule"] = c.show()
		}
	}
	return out
}

func (s *account) subscription(id string) *subscription {
	return find(s.subscriptions, func(u *subscription) bool { return u.ID == id })
}

// subscribe is POST /v1/subscriptions. It refuses parameters that Atrium does not send rather than guess their effect.
func (s *account) subscribe(f form, _ *http.Request) any {
	c, now := s.customer(f.Get("customer")), s.now()
	days := int(f.number("trial_period_days"))
	var choice *discount
	switch {
	case c == nil:
		return missing(400, "customer")
	case (f.Get("payment_behavior") == "allow_incomplete") == (f.Get("collection_method") == "send_invoice"):
		return invalid("payment_behavior") // the one way that is modelled of what is charged
	case (f.number("days_until_due") > 0) != (f.Get("collection_method") == "send_invoice"):
		return invalid("days_until_due")
	case f.Get("automatic_tax[enabled]") == "true" && !taxable(c.Address):
		return locationInvalid
	}
	if id, param := f.discounted("discounts"); id != "" {
		var refused error
		if choice, refused = s.redeem(c, id, param); refused != nil {
			return refused
		}
	}
	sold, refused := s.sold(f, "items", new(terms))
	if refused == nil {
		refused = sold.setCurrency(f.Get("currency"))
	}
	if refused != nil {
		return refused
	}
	if s.conflicts(sold.Plan.Price.Currency) {
		return otherCurrency
	}
	u := s.order(c, sold, f.members("metadata"), now)
	u.DaysUntilDue = int(f.number("days_until_due"))
	if u.Discount = choice; c.Default == "" && days == 0 && u.cost(now) > 0 && u.DaysUntilDue == 0 {
		return missing(400, "") // "no attached payment source or default payment method"
	}
	u.AutomaticTax = f.Get("automatic_tax[enabled]") == "true"
	s.subscriptions = append(s.subscriptions, u)
	if days > 0 {
		u.WithoutCard = f.Get("trial_settings[end_behavior][missing_payment_method]")
		if c.Default == "" && u.DaysUntilDue == 0 {
			u.setup = s.setUp(c, "off_session", nil)
		}
		s.tryOut(u, days)
		return s.showSubscription(u, f.expanded())
	}
	i := s.billPeriod(u, attempt{present: true}, now)
	if i.Status != "paid" && u.DaysUntilDue == 0 && !i.onTheWay() {
		u.Status = "incomplete"
	}
	return s.showSubscription(u, f.expanded())
}

// tryOut begins a trial.
func (s *account) tryOut(u *subscription, days int) {
	u.Status, u.TrialEnd = "trialing", u.Start.AddDate(0, 0, days)
	u.End = u.TrialEnd
	s.bill(u, 0, attempt{present: true})
}

// order returns a subscription that is not stored yet.
func (s *account) order(
	c *customer, t terms, metadata map[string]string, now time.Time,
) *subscription {
	u := &subscription{
		ID: s.id("sub"), Item: s.id("si"), Customer: c.ID, Status: "active", Metadata: metadata, Created: now,
		Anchor: now.Day(), Start: now,
	}
	s.sell(u, t, now)
	u.End = u.Plan.Interval.Advance(now, u.Plan.IntervalCount, u.Anchor)
	return u
}

func (s *account) listSubscriptions(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.subscriptions, func(u *subscription) bool {
		return u.Customer == f.Get("customer") && (f.Get("status") == "all" || u.live())
	}), func(u *subscription) map[string]any { return s.showSubscription(u, f.expanded()) })
}

func (s *account) readSubscription(f form, r *http.Request) any {
	return display(s.subscription(r.PathValue("id")),
		func(u *subscription) map[string]any { return s.showSubscription(u, f.expanded()) })
}

// updateSubscription is POST /v1/subscriptions/{id}. All checks come before the first change, because a refused request
// changes nothing.
func (s *account) updateSubscription(f form, r *http.Request) any {
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
	case u.Pending != nil: // Stripe has rules for each change; Atrium voids the pending one first
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
		return refused
	}
	count, choice := u.Discount, (*discount)(nil)
	if id, param := f.discounted("discounts"); id != "" {
		var refused error
		if choice, refused = s.redeem(s.customer(u.Customer), id, param); refused != nil {
			return refused
		}
		u.Discount = choice
	}
	endsTrial := f.Get("trial_end") == "now" && u.Status == "trialing"
	if f.Has("trial_end") && !endsTrial && !u.extendTrial(f, now) {
		return invalid("trial_end")
	}
	if len(f.members("items")) > 0 || endsTrial {
		if f.Get("proration_behavior") != "always_invoice" {
			return invalid("proration_behavior")
		}
		moment, inPeriod := u.prorated(f, "proration_date", now)
		if !inPeriod {
			return invalid("proration_date")
		}
		changed, refused := u.clone(), error(nil)
		if len(f.members("items")) > 0 {
			changed, refused = s.changed(u, f, "items")
		}
		if refused != nil {
			return refused
		}
		if changed.Plan.Interval != u.Plan.Interval && u.schedule != nil && u.Status != "trialing" {
			return invalid("items") // what becomes of its phases, which have the old period, is not documented
		}
		if refused := s.resell(u, changed, endsTrial, waits, moment, now); refused != nil {
			u.Discount = count
			return refused
		}
	}
	u.explain(f)
	if ends != "" {
		u.CancelAtPeriodEnd, _ = strconv.ParseBool(ends)
	}
	if ends != "" || f.Has("cancel_at") {
		u.CancelAt = time.Time{}
	}
	if m := f.Get("default_payment_method"); m != "" {
		if s.customer(u.Customer).method(m) == nil {
			return missing(400, "default_payment_method")
		}
		u.Default = m
	}
	for name, value := range f.members("metadata") {
		u.Metadata[name] = value
	}
	return s.showSubscription(u, f.expanded())
}

// extendTrial sets a trial's later end, and reports whether that is possible
// (https://docs.stripe.com/billing/subscriptions/trials#change-the-trial-end-date). Other ends are not modelled.
func (u *subscription) extendTrial(f form, now time.Time) bool {
	end := time.Unix(f.number("trial_end"), 0).UTC()
	if u.Status != "trialing" || !end.After(now) || f.Get("proration_behavior") != "none" {
		return false
	}
	u.TrialEnd, u.End, u.TrialTold = end, end, false
	return true
}

// withPendingUpdate are the parameters that can go with pending_if_incomplete.
var withPendingUpdate = []string{
	"expand", "payment_behavior", "proration_behavior", "proration_date", "items", "trial_end",
}

// resell changes what is sold, and bills the difference for the rest of the period; another interval begins a
// new period. What is left over is credited. If the difference cannot be charged, nothing changes, but with
// pending_if_incomplete the change waits for its invoice.
func (s *account) resell(
	u *subscription, t terms, endsTrial, waits bool, moment, now time.Time,
) error {
	previous := *u
	if u.Status == "trialing" && !endsTrial {
		s.sell(u, t, now)
		return nil
	}
	amount := u.change(t, moment, now)
	if endsTrial {
		amount = u.beginPaying(now)
	}
	meter := u.Meter
	u.Meter = previous.Meter
	defer func() {
		if u.Plan.PriceRef == t.Plan.PriceRef { // it was made
			s.measure(u, meter, now)
		}
	}()
	c := s.customer(u.Customer)
	if amount <= 0 {
		u.spend(now)
		c.Credit -= amount + s.tax(u, amount)
		return nil
	}
	decline, asks := "", false
	if amount+s.tax(u, amount) > c.Credit && u.DaysUntilDue == 0 {
		decline, asks = s.wouldDecline(u, attempt{present: true})
	}
	switch {
	case (decline != "" || asks) && waits:
		p := &pendingUpdate{terms: u.terms, Anchor: u.Anchor, Start: u.Start, End: u.End, Deducted: u.deduction(now)}
		p.invoice = s.bill(u, amount, attempt{present: true})
		*u = previous
		if p.Expires = now.Add(incompleteFor); u.End.Before(p.Expires) {
			p.Expires = u.End
		}
		u.Pending = p
		return nil
	case decline != "" || asks:
		*u = previous
		return s.refuse(decline, asks)
	}
	s.bill(u, amount, attempt{present: true})
	u.spend(now)
	return nil
}

// apply makes a pending update, whose invoice was paid.
func (u *subscription) apply() {
	p := u.Pending
	if u.Status == "trialing" { // only an update that ends it waits
		u.Status, u.TrialEnd, u.setup = "active", p.Start, nil
	}
	u.Pending, u.terms, u.Anchor, u.Start, u.End = nil, p.terms, p.Anchor, p.Start, p.End
	u.Deducted = p.Deducted
}

func (s *account) cancelSubscription(f form, r *http.Request) any {
	u := s.subscription(r.PathValue("id"))
	if u == nil || !u.live() {
		return missing(404, "id") // of one that has ended too: https://github.com/stripe/stripe-go/issues/1887
	}
	u.explain(f)
	if f.Get("invoice_now") == "true" {
		s.billUsage(u, s.now())
	}
	s.end(u, "canceled")
	return s.showSubscription(u, nil)
}
