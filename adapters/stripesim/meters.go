package stripesim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// meterEvent is reported usage (https://docs.stripe.com/api/billing/meter-event/create).
type meterEvent struct {
	ID, Identifier, Customer, Feature string
	Value                             int64
	At, Received                      time.Time
}

// meterOf is the id of a feature's meter, and eventOf the name of its events.
func meterOf(feature string) string { return "mtr_" + feature }
func eventOf(feature string) string { return feature + "_used" }

// meteredPrice returns the plan whose metered price has an id.
func (s *account) meteredPrice(ref string) *payment.Plan {
	for i := range s.plans {
		if m := s.plans[i].Metered; m != nil && m.PriceRef == ref {
			return &s.plans[i]
		}
	}
	return nil
}

func showMeteredPrice(p *payment.Plan) map[string]any {
	out := showPrice(*p)
	out["id"], out["unit_amount"] = p.Metered.PriceRef, p.Metered.Amount
	out["recurring"] = map[string]any{
		"interval": string(p.Interval), "interval_count": p.IntervalCount, "usage_type": "metered",
		"meter": meterOf(p.Metered.Feature),
	}
	return out
}

// measure bills the usage of u by another metered price from now on. What was used before is not billed
// (https://docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup).
func (s *account) measure(u *subscription, by *payment.Plan, now time.Time) {
	if by == nil {
		u.Meter, u.MeterItem = nil, ""
		return
	}
	if u.Meter == nil || u.Meter.Metered.PriceRef != by.Metered.PriceRef {
		u.MeterSince = now
	}
	if u.Meter = by; u.MeterItem == "" {
		u.MeterItem = s.id("si")
	}
}

func (s *account) readMeter(_ form, r *http.Request) any {
	for _, p := range s.plans {
		if p.Metered != nil && meterOf(p.Metered.Feature) == r.PathValue("id") {
			return map[string]any{
				"id": meterOf(p.Metered.Feature), "object": "billing.meter", "status": "active", "livemode": false,
				"event_name": eventOf(p.Metered.Feature), "display_name": p.Metered.Feature,
			}
		}
	}
	return missing(404, "id")
}

// reportUsage refuses an identifier that it has had within a day.
func (s *account) reportUsage(f form, _ *http.Request) any {
	e := &meterEvent{
		Identifier: f.Get("identifier"), Customer: f.Get("payload[stripe_customer_id]"), Received: s.now(),
		At: time.Unix(f.number("timestamp"), 0).UTC(),
	}
	value, err := strconv.ParseInt(f.Get("payload[value]"), 10, 64)
	n := slices.IndexFunc(s.plans, func(p payment.Plan) bool {
		return p.Metered != nil && eventOf(p.Metered.Feature) == f.Get("event_name")
	})
	isRepeated := func(o *meterEvent) bool {
		return o.Identifier == e.Identifier && e.Received.Sub(o.Received) < keptFor
	}
	switch {
	case n < 0:
		return invalid("event_name")
	// Negative ones are corrections: https://docs.stripe.com/billing/subscriptions/usage-based/meters/configure
	case err != nil:
		return invalid("payload")
	case s.customer(e.Customer) == nil:
		return invalid("payload")
	case e.At.Before(e.Received.AddDate(0, 0, -35)) || e.At.After(e.Received.Add(5*time.Minute)):
		return invalid("timestamp")
	case slices.ContainsFunc(s.usage, isRepeated):
		return said{invalid(""), "An event already exists with identifier " + e.Identifier + "."}
	}
	e.ID, e.Value, e.Feature = s.id("mev"), value, s.plans[n].Metered.Feature
	s.usage = append(s.usage, e)
	return map[string]any{
		"object": "billing.meter_event", "created": e.Received.Unix(), "event_name": f.Get("event_name"),
		"identifier": e.Identifier, "timestamp": e.At.Unix(), "livemode": false, "payload": f.members("payload"),
	}
}

// used returns the line for what u has used from start to end; nil if it has no metered item or used nothing.
func (s *account) used(u *subscription, start, end time.Time) *line {
	if u.Meter == nil || u.Status == "trialing" {
		return nil
	}
	m, sum := u.Meter.Metered, int64(0)
	if u.MeterSince.After(start) {
		start = u.MeterSince
	}
	for _, e := range s.usage {
		if e.Customer == u.Customer && e.Feature == m.Feature && !e.At.Before(start) && e.At.Before(end) {
			sum += e.Value
		}
	}
	if sum <= 0 { // "If the overall cycle usage is negative, Stripe reports ... 0" (as above)
		return nil
	}
	return &line{fmt.Sprintf("%d × %s", sum, m.Feature), sum, u.rounded(sum * m.Amount), start, end, m.PriceRef}
}

// usageCost returns the price of the usage that is billed with a period that begins at a time, less the discount, and
// what the discount deducts from it.
func (u *subscription) usageCost(moment time.Time) (cost, deduction int64) {
	if u.Unbilled == nil {
		return 0, 0
	}
	if cost = u.Unbilled.Amount; u.Discount != nil && !u.Discount.Ended(moment) {
		deduction = u.rounded(u.Discount.Deduction(u.amount()+cost)) - u.rounded(u.Discount.Deduction(u.amount()))
	}
	return cost - deduction, deduction
}

// billUsage creates the invoice for what u has used, and charges it. A paused subscription's invoice would be void
// (https://docs.stripe.com/billing/subscriptions/pause-payment): it is left out.
func (s *account) billUsage(u *subscription, now time.Time) {
	if u.Paused {
		return
	}
	// what was reported within the present second, too
	if l := s.used(u, u.Start, now.Add(time.Second)); l != nil && (u.Status == "active" || u.Status == "past_due") {
		s.bill(u, l.Amount, attempt{}).Lines = []line{*l}
	}
}

// line is an invoice line.
type line struct {
	Description      string
	Quantity, Amount int64
	Start, End       time.Time
	Price            string // its id
}

// line returns the line for an amount of the plan's price.
func (u *subscription) line(amount int64) line {
	return u.lineOf(&u.Plan, u.Quantity, amount)
}

func (u *subscription) lineOf(p *payment.Plan, quantity, amount int64) line {
	return line{fmt.Sprintf("%d × %s", quantity, p.ID), quantity, amount, u.Start, u.End, p.PriceRef}
}

// periodLines returns a line for each item of u whose price is paid in advance, and one for its unbilled usage.
func (u *subscription) periodLines() []line {
	all := []line{u.line(u.Plan.Price.Amount * u.Quantity)}
	for _, e := range u.Extras {
		if !e.Metered {
			all = append(all, u.lineOf(&e.Price, e.Quantity, e.Price.Price.Amount*e.Quantity))
		}
	}
	if u.Unbilled != nil {
		all, u.Unbilled = append(all, *u.Unbilled), nil
	}
	return all
}

// shownLines is the number of an invoice's lines that an invoice contains (https://docs.stripe.com/api/invoices/object,
// lines).
const shownLines = 10

func (i *invoice) showLines() map[string]any {
	data := []any{}
	for n, l := range i.Lines[:min(len(i.Lines), shownLines)] {
		data = append(data, map[string]any{
			"id": fmt.Sprintf("il_%s_%d", i.ID, n), "object": "line_item", "description": l.Description,
			"quantity": l.Quantity, "amount": l.Amount, "livemode": false,
			"period": map[string]any{"start": l.Start.Unix(), "end": l.End.Unix()},
			"pricing": map[string]any{"type": "price_details",
				"price_details": map[string]any{"price": l.Price, "product": "prod_" + l.Price}},
		})
	}
	return map[string]any{"object": "list", "has_more": len(i.Lines) > shownLines,
		"url": "/v1/invoices/" + i.ID + "/lines", "data": data}
}
